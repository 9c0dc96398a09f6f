package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	service = "org.freedesktop.systemd1"
	object  = dbus.ObjectPath("/org/freedesktop/systemd1")
	manager = service + ".Manager"
)

// Bus is a connection to the user's systemd. Close ends it.
type Bus struct {
	conn    *dbus.Conn
	systemd dbus.BusObject
}

// Connect connects to the user's systemd on the bus that the environment names.
// The connection ends with the context, whatever it waits for.
func Connect(ctx context.Context, environ []string) (*Bus, error) {
	list, err := addresses(environ)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, address := range list {
		b, err := connect(ctx, address)
		if err == nil {
			return b, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", address, late(ctx, err)))
	}
	return nil, fmt.Errorf("connect to the user's bus: %w", errors.Join(errs...))
}

func connect(ctx context.Context, address string) (*Bus, error) {
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	b := &Bus{conn: conn, systemd: conn.Object(service, object)}
	if err := b.sameNumbers(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// sameNumbers checks that the other side calls this process by the same number:
// with a bus of another pid namespace, a number of ours is somebody else's there,
// who would be moved.
func (b *Bus) sameNumbers(ctx context.Context) error {
	var pid uint32
	call := b.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetConnectionUnixProcessID", 0, b.conn.Names()[0])
	if err := call.Store(&pid); err != nil {
		return err
	}
	if int(pid) != os.Getpid() {
		return fmt.Errorf("it is of another pid namespace: it calls this process %d, not %d", pid, os.Getpid())
	}
	return nil
}

// Close ends the connection.
func (b *Bus) Close() { _ = b.conn.Close() }

// property and its neighbour are what StartTransientUnit takes: a(sv), a(sa(sv)).
type property struct {
	Name  string
	Value dbus.Variant
}

type auxiliary struct {
	Name       string
	Properties []property
}

// stopPatience is how long systemd waits between SIGTERM and SIGKILL when it ends
// a scope, as it does at the end of the user's last session.
const stopPatience = 5 * time.Second

// scope are the properties of a scope that is delegated, and that is forgotten
// as soon as it has no process any more.
func scope(pid int) []property {
	return []property{
		{"Description", dbus.MakeVariant("Commands of sandbox-exec")},
		{"PIDs", dbus.MakeVariant([]uint32{uint32(pid)})},
		{"Delegate", dbus.MakeVariant(true)},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
		{"TimeoutStopUSec", dbus.MakeVariant(uint64(stopPatience.Microseconds()))},
	}
}

// StartScope makes a delegated scope whose first member is that process, and
// returns when it is there. The error has systemd's own reason.
func (b *Bus) StartScope(ctx context.Context, unit string, pid int) error {
	removed := make(chan *dbus.Signal, 16)
	b.conn.Signal(removed)
	// Who does not subscribe is told of no job (dbus-manager.c, bus_foreach_bus).
	err := b.conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(manager), dbus.WithMatchMember("JobRemoved"))
	if err == nil {
		err = b.systemd.CallWithContext(ctx, manager+".Subscribe", 0).Err
	}
	var job dbus.ObjectPath
	if err == nil {
		err = b.systemd.CallWithContext(ctx, manager+".StartTransientUnit", 0, unit, "fail", scope(pid), []auxiliary{}).Store(&job)
	}
	if err == nil {
		err = result(ctx, removed, job)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", unit, late(ctx, err))
	}
	return nil
}

// result waits for the end of a job.
func result(ctx context.Context, removed <-chan *dbus.Signal, job dbus.ObjectPath) error {
	for {
		select {
		case s, open := <-removed:
			if !open {
				return errors.New("the connection ended before the job did")
			}
			if verdict, ours := judge(s, job); ours && verdict != "done" {
				return fmt.Errorf("the job ended as %q", verdict)
			} else if ours {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// judge is how that job ended, where the signal tells of it: JobRemoved(u id,
// o job, s unit, s result).
func judge(s *dbus.Signal, job dbus.ObjectPath) (verdict string, ours bool) {
	var id uint32
	var path dbus.ObjectPath
	var unit string
	if s.Name != manager+".JobRemoved" || dbus.Store(s.Body, &id, &path, &unit, &verdict) != nil {
		return "", false
	}
	return verdict, path == job
}

// Attach moves a process of this user into a group below a delegated unit. The
// kernel would not let this process do that itself from outside; the user's
// systemd has the machine's do it.
func (b *Bus) Attach(ctx context.Context, unit, group string, pid int) error {
	err := b.systemd.CallWithContext(ctx, manager+".AttachProcessesToUnit", 0, unit, group, []uint32{uint32(pid)}).Err
	if err != nil {
		return fmt.Errorf("move process %d into %s%s: %w", pid, unit, group, late(ctx, err))
	}
	return nil
}

// late tells an error that is the end of the time from others: a connection that
// was closed for it fails in many ways.
func late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	}
	return err
}
