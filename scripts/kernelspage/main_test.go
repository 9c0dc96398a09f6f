package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const probed = `{"modes":[{"report":{"landlock":"ABI 2, errata 0xc","promises":[{"promise":"files","status":"enforced"},{"promise":"metadata","status":"closed"}]}},{"error":{}}]}`

func TestPage(t *testing.T) {
	runs := t.TempDir()
	for name, body := range map[string]string{
		"10/release": "6.1.0-57-cloud-amd64", "10/package": "abc one.deb\n",
		"10/console":   "boot\nVM-REQUIRE root landlock=2,broker\nVM-FACTS kill, peaks\nVM-PROBE root {}\nVM-PROBE builder " + probed + "\n",
		"10/root.json": `{"Action":"pass","Test":"TestA"}{"Action":"skip","Test":"TestB"}{"Action":"pass"}`, "10/builder.json": `{"Action":"fail","Test":"TestA"}`,
		"9/release": "5.10.0-1", "9/package": "def two.deb", "9/console": "VM-REQUIRE root no-landlock\nVM-PROBE builder {\"modes\":[{},{}]}\n", "9/root.json": "", "9/builder.json": "",
	} {
		file := filepath.Join(runs, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(runs, "page")
	if err := update(runs, page); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 5.10.0-1 | none | no | none | 0, 0, 0 | 0, 0, 0 |\n| 6.1.0-57-cloud-amd64 | ABI 2, errata 0xc | yes | kill, peaks | 1, 0, 1 | 0, 1, 0 |\n",
		"| promise | 5.10 | 6.1 |\n", "| files | nothing runs | enforced, nothing runs |\n", "def two.deb\nabc one.deb\n",
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("got\n%s\nwant %q in it", body, want)
		}
	}
	if err := update(t.TempDir(), page); err == nil {
		t.Error("no machines: no error")
	}
}
