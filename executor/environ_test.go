package executor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScrub(t *testing.T) {
	for _, name := range []string{
		"AWS_SECRET_ACCESS_KEY", "api_key", "GITHUB_TOKEN", "DB_PASSWORD", "MYSQL_PASSWD", "CREDENTIALS_FILE",
		"GITHUB_PAT", "AZURE_PAT_2", "HTTP_AUTH", "NPM_CONFIG__AUTH", "SSH_AUTH_SOCK", "GPG_AGENT_INFO",
		"DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "TMUX", "BASH_ENV", "ENV", "PGPASSFILE", "LD_PRELOAD",
		"LD_LIBRARY_PATH", "BASH_FUNC_ls%%", "Secret", "DB_PASS", "MYSQL_PWD", "GPG_PASSPHRASE", "API_BEARER",
		"SESSION_COOKIE", "STY", "NVIM", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0",
	} {
		if !scrub(name) {
			t.Errorf("%s is inherited", name)
		}
	}
	for _, name := range []string{
		"HOME", "PATH", "USER", "LANG", "TERM", "PKG_CONFIG_PATH", "NODE_PATH", "GIT_AUTHOR_NAME",
		"GIT_AUTHOR_EMAIL", "CI", "GOFLAGS", "PWD", "OLDPWD", "GIT_CONFIG_GLOBAL", "ENVIRONMENT", "MY_PATTERN", "OLD_LD_FLAGS",
	} {
		if scrub(name) {
			t.Errorf("%s is scrubbed", name)
		}
	}
}

func TestEnviron(t *testing.T) {
	tame := []string{"NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat"}
	locale := "LC_MESSAGES=C.UTF-8"
	plain := "PATH=" + plainPath
	for _, tt := range []struct {
		name                   string
		inherited, keep, extra []string
		want, scrubbed         []string
	}{
		{"nothing", nil, nil, nil, append([]string{plain}, append(tame, locale)...), nil},
		{
			"a secret and its exception",
			[]string{"PATH=/bin", "A_TOKEN=1", "B_TOKEN=2"},
			[]string{"B_TOKEN"},
			nil,
			append([]string{"PATH=/bin", "B_TOKEN=2"}, append(tame, locale)...),
			[]string{"A_TOKEN"},
		},
		{
			"what the caller sets wins and is not scrubbed",
			[]string{"A=1", "TERM=xterm"},
			nil,
			[]string{"A=2", "MY_KEY=k", "TERM=vt100", "LANG=de_DE.UTF-8"},
			[]string{plain, "A=2", "TERM=vt100", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "MY_KEY=k", "LANG=de_DE.UTF-8"},
			nil,
		},
		{
			"oddities",
			[]string{"novalue", "=x", "A=1", "A=2", "TMPDIR=/x", "OLDPWD=/y", "_=/z", "LANG=de_DE.UTF-8", "TMUX=a", "TMUX=b"},
			nil, nil,
			append([]string{plain, "A=2", "LANG=de_DE.UTF-8"}, append(tame, locale)...),
			[]string{"TMUX"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, scrubbed := environ(tt.inherited, tt.keep, tt.extra)
			if diff := cmp.Diff(tt.want, env); diff != "" {
				t.Error("environment (-want +got):\n", diff)
			}
			if diff := cmp.Diff(tt.scrubbed, scrubbed); diff != "" {
				t.Error("scrubbed (-want +got):\n", diff)
			}
		})
	}
}
