package classify

import (
	"slices"
	"strings"
)

// family is an errno that a refusal line names.
type family uint8

const (
	access      family = iota // EACCES
	crossDevice               // EXDEV
)

// phrase is an errno's text, or its name. The translations are the ones of
// glibc 2.36 (/usr/share/locale/*/LC_MESSAGES/libc.mo); bash, coreutils and
// python take theirs from there.
type phrase struct {
	text   string
	family family
}

var phrases = []phrase{
	{"Permission denied", access},
	{"permission denied", access},
	{"EACCES", access},
	{"Keine Berechtigung", access},      // de
	{"Permission non accordée", access}, // fr
	{"Permiso denegado", access},        // es
	{"Permesso negato", access},         // it
	{"Permissão negada", access},        // pt_BR
	{"Permissão recusada", access},      // pt
	{"許可がありません", access},                // ja
	{"权限不够", access},                    // zh_CN
	{"拒絕不符權限的操作", access},               // zh_TW
	{"Отказано в доступе", access},      // ru
	{"Invalid cross-device link", crossDevice},
	{"invalid cross-device link", crossDevice},
	{"cross-device link not permitted", crossDevice}, // libuv
	{"Cross-device link", crossDevice},               // musl
	{"EXDEV", crossDevice},
	{"Ungültiger Link über Gerätegrenzen hinweg", crossDevice},
	{"Lien physique inter-périphérique invalide", crossDevice},
	{"Enlace cruzado entre dispositivos no permitido", crossDevice},
	{"Collegamento tra dispositivi non valido", crossDevice},
	{"Link entre dispositivos inválido", crossDevice},
	{"Ligação entre dispositivos inválida", crossDevice},
	{"無効なクロスデバイスリンクです", crossDevice},
	{"无效的跨设备链接", crossDevice},
	{"不適用的裝置間連結", crossDevice},
	{"Неверная ссылка между устройствами", crossDevice},
}

// javaDenied is how java.nio words EACCES: the path follows, bare. Other
// classes of that last name speak of something else than files.
const javaDenied = "java.nio.file.AccessDeniedException: "

// span is a line around an errno's text.
type span struct {
	head, tail string
	family     family
	numbered   bool // the errno's number or name stands next to the text
	name       bool // there is no text, only the name
}

// maxSpans bounds the occurrences looked at in one line: a path may hold the
// text as well.
const maxSpans = 3

// lastSpan is the line around the last errno text in line[:end].
func lastSpan(line string, end int) (span, bool) {
	at, best := -1, phrase{}
	for _, p := range phrases {
		if i := strings.LastIndex(line[:end], p.text); i > at {
			at, best = i, p
		}
	}
	if at < 0 {
		return span{}, false
	}
	return span{head: line[:at], tail: line[at+len(best.text):], family: best.family, name: strings.HasPrefix(best.text, "E") && best.text == strings.ToUpper(best.text)}, true
}

// leadsTo reports whether the head leads to an errno's text.
func (s span) leadsTo() bool {
	if s.numbered || s.head == "" {
		return true
	}
	return slices.ContainsFunc([]string{":", "：", "(", ","}, func(end string) bool {
		return strings.HasSuffix(s.head, end)
	})
}

// numberedSpan finds an errno by its number, in any language: python writes
// "[Errno 13] TEXT: 'PATH'" and rust "PATH: TEXT (os error 13)".
func numberedSpan(line string) (span, bool) {
	for _, n := range []struct {
		number string
		family family
	}{{"13", access}, {"18", crossDevice}} {
		if head, rest, found := strings.Cut(line, "[Errno "+n.number+"] "); found {
			text, _, _ := strings.Cut(rest, ": ")
			return span{head: head, tail: rest[len(text):], family: n.family, numbered: true}, true
		}
		if text, tail, found := strings.Cut(line, " (os error "+n.number+")"); found {
			return span{head: text[:strings.LastIndex(text, ": ")+1], tail: tail, family: n.family, numbered: true}, true
		}
	}
	return span{}, false
}

// trimMarks takes the number and name of the errno off both sides of its text.
func (s *span) trimMarks() {
	s.head = strings.TrimRight(s.head, " ")
	for _, mark := range []string{"[Errno 13]", "[Errno 18]", "EACCES:", "EXDEV:", "EACCES ("} {
		rest, found := strings.CutSuffix(s.head, mark)
		if found && (rest == "" || strings.IndexByte(" [(", rest[len(rest)-1]) >= 0) {
			s.numbered = true
			s.head = strings.TrimRight(rest, " [")
		}
	}
	for _, mark := range []string{"(13:", "(18:"} {
		if rest, found := strings.CutSuffix(s.head, mark); found {
			s.numbered = true
			s.head = rest + "("
		}
	}
	for _, mark := range []string{" (os error 13)", " (os error 18)", " (13)", " (18)"} {
		if rest, found := strings.CutPrefix(s.tail, mark); found {
			s.numbered = true
			s.tail = rest
		}
	}
}
