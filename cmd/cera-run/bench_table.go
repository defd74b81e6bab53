package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// textTable is rows of text under a head, printed as text, CSV or Markdown.
type textTable struct {
	head []string
	left int // columns that Markdown aligns to the left; the others are numbers
	rows [][]string
}

func (t *textTable) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table in a format of --output.
func (t *textTable) write(out io.Writer, format string) error {
	if format == "csv" {
		return csv.NewWriter(out).WriteAll(append([][]string{t.head}, t.rows...))
	}
	left, between, right := "", "\t", ""
	rows := append([][]string{t.head}, t.rows...)
	if format == "markdown" {
		left, between, right = "| ", " | ", " |"
		rule := make([]string, len(t.head))
		for i := range rule {
			rule[i] = "---:"
			if i < t.left {
				rule[i] = "---"
			}
		}
		rows = append([][]string{t.head, rule}, t.rows...)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.TrimRight(left+strings.Join(cells, between)+right, "\t"))
	}
	return w.Flush()
}

func number(v float64, places int) string { return strconv.FormatFloat(v, 'f', places, 64) }

// unlessZero is nothing where the number is not known.
func unlessZero(v float64, places int) string {
	if v == 0 {
		return ""
	}
	return number(v, places)
}
