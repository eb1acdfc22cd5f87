package strict

import "reflect"

// UnmarshalTexts is Unmarshal into a zero struct most of whose bytes are in a few
// members: texts gives their names and where they go, a *string or a *[]string
// within v. The result is the same, faster: encoding/json walks through every
// byte twice in small steps, and a group of responses is decoded on its caller's
// thread, which in Python holds the GIL meanwhile.
//
// The texts are cut out first and null is left in their place. Whatever is not
// plain on the way, an error included, sends the whole document to Unmarshal.
func UnmarshalTexts(field string, data []byte, v any, texts map[string]any) error {
	if err := checkText(field, data); err != nil {
		return err
	}
	if rest, found, ok := cut(data, texts); ok {
		if decode(field, rest, v) == nil {
			for name, text := range found {
				reflect.ValueOf(texts[name]).Elem().Set(reflect.ValueOf(text))
			}
			return nil
		}
		reflect.ValueOf(v).Elem().SetZero()
	}
	return decode(field, data, v)
}

// UnmarshalString decodes a document that is one string.
func UnmarshalString(field string, data []byte, v *string) error {
	if err := checkText(field, data); err != nil {
		return err
	}
	s := scanner{data: data}
	if text := s.text(); !s.bad && s.at == len(data) {
		*v = text
		return nil
	}
	return decode(field, data, v)
}

// cut takes the members that texts names out of an object: a string where a
// *string is given, a list of strings where a *[]string is. It decides nothing
// about validity: rest is yet to be decoded.
func cut(data []byte, texts map[string]any) (rest []byte, found map[string]any, ok bool) {
	s := scanner{data: data}
	found = map[string]any{}
	kept := 0 // data[:kept] has been copied to rest
	s.space()
	s.take('{')
	for !s.bad {
		s.space()
		name := s.text()
		s.space()
		s.take(':')
		s.space()
		from := s.at
		if _, twice := found[name]; twice {
			return nil, nil, false
		}
		if value := s.member(texts[name]); value != nil {
			found[name] = value
			rest = append(append(rest, data[kept:from]...), "null"...)
			kept = s.at
		} else {
			s.value()
		}
		s.space()
		if s.peek() != ',' {
			break
		}
		s.at++
	}
	if s.bad || s.peek() != '}' {
		return nil, nil, false
	}
	return append(rest, data[kept:]...), found, true
}

// member reads a string or a list of strings, whichever goes there. Nil, and back
// where it was, if the value is something else.
func (s *scanner) member(to any) any {
	start := s.at
	switch to.(type) {
	case *string:
		if s.peek() == '"' {
			return s.text()
		}
	case *[]string:
		if texts, ok := s.texts(); ok {
			return texts
		}
		s.at = start
	}
	return nil
}

// texts reads a list of strings. False if it holds anything else.
func (s *scanner) texts() (texts []string, ok bool) {
	texts = []string{}
	if s.peek() != '[' {
		return nil, false
	}
	s.at++
	s.space()
	if s.peek() == ']' {
		s.at++
		return texts, true
	}
	for {
		s.space()
		if s.peek() != '"' {
			return nil, false
		}
		texts = append(texts, s.text())
		s.space()
		switch s.peek() {
		case ',':
			s.at++
		case ']':
			s.at++
			return texts, true
		default:
			return nil, false
		}
	}
}
