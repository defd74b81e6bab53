package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"cera/trace"
)

// grace is how long a command may take to end by itself once it is told to. Some work cannot be left in the middle: a
// batch that a device computes, a tensor that is encoded. After that the program ends without waiting for it.
const grace = 300 * time.Millisecond

// guard ends the program after a signal, whatever its goroutines do.
type guard struct {
	cancel context.CancelFunc
	end    sync.Once // the command's own way, or force

	mu      sync.Mutex
	handed  bool   // an interrupt is the command's to handle
	restore func() // makes the terminal usable; nil: nothing is to be done
}

type guardKey struct{}

// watch returns a context that ends at the first signal, and the guard that sees to it that the program does.
func watch(ctx context.Context) (context.Context, *guard) {
	ctx, cancel := context.WithCancel(ctx)
	g := &guard{cancel: cancel}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	ignoreWrites()
	go g.listen(signals)
	return context.WithValue(ctx, guardKey{}, g), g
}

func (g *guard) listen(signals <-chan os.Signal) {
	var late <-chan time.Time
	for {
		select {
		case s := <-signals:
			g.mu.Lock()
			handed := g.handed && s == os.Interrupt
			g.mu.Unlock()
			if handed {
				continue
			}
			if late != nil {
				g.force() // who asks twice does not want to wait
			}
			g.cancel()
			late = time.After(grace)
		case <-late:
			g.force()
		}
	}
}

// handOver leaves interrupts to a command; restore makes the terminal usable where the program ends by force all the
// same.
func handOver(ctx context.Context, restore func()) {
	if g, ok := ctx.Value(guardKey{}).(*guard); ok {
		g.mu.Lock()
		g.handed, g.restore = true, restore
		g.mu.Unlock()
	}
}

// forceOf returns what ends the program at once, or nil where nothing guards it.
func forceOf(ctx context.Context) func() {
	if g, ok := ctx.Value(guardKey{}).(*guard); ok {
		return g.force
	}
	return nil
}

// force ends the program: nothing half written stays, and the terminal is as it was.
func (g *guard) force() {
	g.end.Do(func() {
		trace.Abandon()
		g.mu.Lock()
		restore := g.restore
		g.mu.Unlock()
		if restore != nil {
			restore()
		}
		said := make(chan struct{})
		go func() { // a pipe that nobody reads must not hold the program
			fmt.Fprintln(os.Stderr, interrupted)
			close(said)
		}()
		select {
		case <-said:
		case <-time.After(grace / 5):
		}
		os.Exit(exitUsage)
	})
}

// stop tells that the command has ended by itself.
func (g *guard) stop() { g.end.Do(func() {}) }

// interrupted is what a command that was told to end says last.
const interrupted = "cera-run: interrupted"
