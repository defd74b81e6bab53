package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cera/chat"
)

func chatCommand() *cobra.Command {
	var (
		o                runOptions
		g                generateOptions
		template, system string
	)
	cmd := &cobra.Command{
		Use:   "chat [MODEL]",
		Short: "Talk with a model",
		Long: `chat talks with a model by the chat template that its file carries. The whole conversation is written
anew each turn; what the KV cache has of it is not computed again.

A line that ends in a backslash goes on, and """ begins and ends a message of several lines.
/help lists the commands. Ctrl-C stops an answer; at the prompt it ends the program, as Ctrl-D
does, and so does a second one where an answer does not stop. Where standard input is not a
terminal, its lines are the messages, and Ctrl-C or the first thing that goes wrong ends the
program.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.check(cmd); err != nil {
				return err
			}
			t, err := chatTemplate(args, template)
			if err != nil {
				return err
			}
			e, _, err := o.open(cmd, args)
			if err != nil {
				return err
			}
			defer e.Close()
			if err := g.constrain(&o, e); err != nil {
				return err
			}
			tok, err := o.tokenizer(e)
			if err != nil {
				return err
			}
			if err := cmd.Context().Err(); err != nil {
				return err // interrupted while the model was loaded
			}
			// The command's context ends at the first interrupt; here an interrupt ends an answer only.
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(signals)
			talk := &talk{
				conversation: newConversation(t, tok), session: e.Session(), options: g.GenerateOptions,
				signals: signals,
				out:     cmd.OutOrStdout(), notes: cmd.ErrOrStderr(),
			}
			if cmd.Flags().Changed("system") {
				talk.messages = []chat.Message{{Role: "system", Content: system}}
			}
			talk.lines, talk.interactive = openLines(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			if talk.interactive && !o.quiet {
				fmt.Fprintf(talk.notes, "Template %s, context of %d tokens. /help lists the commands.\n", t.Name(),
					e.Session().Ctx())
			}
			if talk.interactive {
				talk.force = forceOf(cmd.Context())
				handOver(cmd.Context(), talk.lines.abandon)
			}
			err = talk.run(context.WithoutCancel(cmd.Context()))
			if err == nil && talk.ended && !talk.interactive {
				err = context.Canceled // there may be messages that nobody answered
			}
			return err
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&template, "template", "",
		"chat template: the `NAME` of a built-in one ("+strings.Join(chat.BuiltInNames(), ", ")+
			") or of one in the model's file, a file, or the template's text")
	f.StringVar(&system, "system", "", "`TEXT` of the message that says how to answer")
	f.StringVar(&o.pre, "pre", "", "pre-tokenizer to use in place of the file's, as `NAME`")
	f.IntVarP(&g.Max, "max", "n", 0, "tokens of an answer at most; 0: until the model ends or the context is full")
	g.flags(cmd)
	return cmd
}

// chatTemplate finds the template that a flag names, or the model's own.
func chatTemplate(args []string, flag string) (*chat.Template, error) {
	if t, ok := chat.BuiltIn(flag); ok {
		return t, nil
	}
	f, err := openFile(args)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names := chat.Names(f)
	var t *chat.Template
	switch {
	case flag == "" || slices.Contains(names, flag):
		t, err = chat.FromFile(f, flag)
	case strings.Contains(flag, "{{") || strings.Contains(flag, "{%"):
		t, err = chat.New("--template", flag)
	default:
		var text []byte
		text, err = readLimited(flag, chat.MaxTemplate)
		if err == nil {
			t, err = chat.New(flag, string(text))
		} else if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%q is no built-in template (%s), none in the model's file (%s), no file, and no text "+
				"with {{ or {%%",
				flag, strings.Join(chat.BuiltInNames(), ", "), strings.Join(names, ", "))
		}
		if err != nil {
			err = fmt.Errorf("--template: %w", err)
		}
	}
	if errors.Is(err, chat.ErrNone) {
		err = fmt.Errorf("%w; --template gives one: a file, or one of %s", err, strings.Join(chat.BuiltInNames(), ", "))
	}
	return t, err
}
