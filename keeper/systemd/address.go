package systemd

import (
	"errors"
	"path"
	"strings"

	"github.com/godbus/dbus/v5"
)

// errNoBus says that the environment names no bus that could be tried.
var errNoBus = errors.New("no user's bus: XDG_RUNTIME_DIR is not set, and DBUS_SESSION_BUS_ADDRESS names no socket")

// addresses are the buses to try, in order. That of the runtime directory is
// systemd's own; another program's session may have a bus without it. Of what an
// address can say, starting a program and the network are not wanted.
func addresses(environ []string) ([]string, error) {
	var list []string
	if dir := lookup(environ, "XDG_RUNTIME_DIR"); path.IsAbs(dir) {
		list = append(list, "unix:path="+dbus.EscapeBusAddressValue(path.Join(dir, "bus")))
	}
	for one := range strings.SplitSeq(lookup(environ, "DBUS_SESSION_BUS_ADDRESS"), ";") {
		socket, _, _ := strings.Cut(one, ",guid=") // what tells connections apart is not of the address
		if strings.HasPrefix(socket, "unix:") && (len(list) == 0 || list[0] != socket) {
			list = append(list, socket)
		}
	}
	if len(list) == 0 {
		return nil, errNoBus
	}
	return list, nil
}

// lookup is the value of a variable; of several the last counts, as in os/exec.
func lookup(environ []string, name string) (value string) {
	for _, variable := range environ {
		if rest, found := strings.CutPrefix(variable, name+"="); found {
			value = rest
		}
	}
	return value
}
