package systemd

import (
	"slices"
	"testing"
)

func TestAddresses(t *testing.T) {
	const xdg, other = "XDG_RUNTIME_DIR=/run/user/7", "DBUS_SESSION_BUS_ADDRESS="
	for name, tt := range map[string]struct{ environ, want []string }{
		"nothing":                   {[]string{"HOME=/"}, nil},
		"empty":                     {[]string{"XDG_RUNTIME_DIR=", other}, nil},
		"the runtime directory":     {[]string{xdg}, []string{"unix:path=/run/user/7/bus"}},
		"a relative one":            {[]string{"XDG_RUNTIME_DIR=run"}, nil},
		"one to be escaped":         {[]string{"XDG_RUNTIME_DIR=/a;b,c"}, []string{"unix:path=/a%3bb%2cc/bus"}},
		"the last counts":           {[]string{"XDG_RUNTIME_DIR=/no", xdg}, []string{"unix:path=/run/user/7/bus"}},
		"both, and the same":        {[]string{xdg, other + "unix:path=/run/user/7/bus,guid=0f"}, []string{"unix:path=/run/user/7/bus"}},
		"both":                      {[]string{other + "unix:abstract=/tmp/x,guid=0f", xdg}, []string{"unix:path=/run/user/7/bus", "unix:abstract=/tmp/x"}},
		"several":                   {[]string{other + "tcp:host=h;unix:path=/a;unix:path=/b"}, []string{"unix:path=/a", "unix:path=/b"}},
		"no program and no network": {[]string{other + "unixexec:path=/bin/sh;tcp:host=h;autolaunch:"}, nil},
	} {
		got, err := addresses(tt.environ)
		if !slices.Equal(got, tt.want) || (err == nil) != (len(tt.want) > 0) {
			t.Errorf("%s: got %q and %v, wanted %q", name, got, err, tt.want)
		}
	}
}
