package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// traceEvent is an event of the trace format of Chrome and Perfetto; times are in microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"` // "X" with a duration, "M" metadata
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Start float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// Rows of a test in the trace.
const (
	traceCommands = iota + 1
	traceLayers
	tracePasses
)

// WriteChromeTrace writes profiles as a trace that chrome://tracing and ui.perfetto.dev read: a process for each test,
// in it a row of commands, one of blocks and one of passes.
func WriteChromeTrace(w io.Writer, device string, profiles []*Profile) error {
	events := []traceEvent{}
	var zero float64
	for i, p := range profiles {
		pid := i + 1
		name := func(what string, tid int, text string) {
			events = append(events, traceEvent{Name: what, Phase: "M", PID: pid, TID: tid,
				Args: map[string]any{"name": text}})
		}
		name("process_name", 0, fmt.Sprintf("%s on %s", p.Test, device))
		name("thread_name", traceCommands, "commands")
		name("thread_name", traceLayers, "layers")
		name("thread_name", tracePasses, "passes")
		if len(p.Events) == 0 {
			continue
		}
		if zero == 0 {
			zero = p.Events[0].Begin
		}
		events = append(events, p.commandEvents(pid, zero)...)
		events = append(events, p.spans(pid, traceLayers, zero, func(e ProfileEvent) (string, int) {
			if e.Layer < 0 {
				return "outside the layers", e.Layer
			}
			return fmt.Sprintf("layer %d", e.Layer), e.Layer
		})...)
		events = append(events, p.spans(pid, tracePasses, zero, func(e ProfileEvent) (string, int) {
			return fmt.Sprintf("pass %d", e.Pass), e.Pass
		})...)
	}
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ns"})
}

func (p *Profile) commandEvents(pid int, zero float64) []traceEvent {
	var events []traceEvent
	for _, e := range p.Events {
		dur := (e.End - e.Begin) / 1e3
		args := map[string]any{
			"op": e.Op, "kernel": e.Kernel, "layer": e.Layer, "pass": e.Pass,
			"submit": e.Submit, "gap_us": e.Gap / 1e3,
		}
		if e.Grid != [3]uint32{} {
			args["workgroups"] = fmt.Sprintf("%d x %d x %d", e.Grid[0], e.Grid[1], e.Grid[2])
		}
		if len(e.Sites) > 0 {
			args["sites"] = strings.Join(e.Sites, " ")
		}
		events = append(events, traceEvent{e.Name, "X", pid, traceCommands, (e.Begin - zero) / 1e3, &dur, args})
	}
	return events
}

// spans joins neighbouring commands of which key says the same.
func (p *Profile) spans(pid, tid int, zero float64, key func(ProfileEvent) (name string, id int)) []traceEvent {
	var events []traceEvent
	for i, from := 1, 0; i <= len(p.Events); i++ {
		name, id := key(p.Events[from])
		if i < len(p.Events) {
			if _, next := key(p.Events[i]); next == id && p.Events[i].Pass == p.Events[from].Pass {
				continue
			}
		}
		dur := (p.Events[i-1].End - p.Events[from].Begin) / 1e3
		start := (p.Events[from].Begin - zero) / 1e3
		events = append(events, traceEvent{Name: name, Phase: "X", PID: pid, TID: tid, Start: start, Dur: &dur})
		from = i
	}
	return events
}
