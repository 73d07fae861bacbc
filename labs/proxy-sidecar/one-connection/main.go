// A proxy that sends the requests of all clients down one connection to the service, one after the
// other without waiting, as Pipy's muxHTTP did when the tables were made that README.md speaks of.
//
// -lost says what becomes of the requests that were on their way when the service ends the
// connection: "empty" answers them with 200 and nothing, as Pipy did then; "again" sends them down
// the next connection, which is safe for GET. Only what such an experiment needs: GET without a
// body, answers with Content-Length.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	headBytesMax = 64 * 1024
	bodyBytesMax = 1024 * 1024
	waitingMax   = 4096
	attempts     = 10
)

const empty = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n"

var errLost = errors.New("the connection to the service ended")

// session is one connection to the service, and who waits for which answer on it, in order.
type session struct {
	connection net.Conn
	mutex      sync.Mutex
	waiting    chan chan []byte
	ended      bool
}

// proxy holds the session that new requests go to.
type proxy struct {
	to      string
	mutex   sync.Mutex
	current *session
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8000", "where to listen")
	to := flag.String("to", "127.0.0.1:8080", "the service")
	lost := flag.String("lost", "again", "requests whose connection ended: empty or again")
	flag.Parse()
	if *lost != "empty" && *lost != "again" {
		log.Fatalf("-lost is %q; it can be empty or again", *lost)
	}

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	shared := &proxy{to: *to}
	for {
		client, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go shared.serve(client, *lost == "empty")
	}
}

// serve answers one client's requests, in order, until it ends the connection.
func (p *proxy) serve(client net.Conn, emptyWhenLost bool) {
	defer client.Close()
	reader := bufio.NewReader(client)
	for {
		head, err := readHead(reader)
		if err != nil {
			return
		}
		keep, forward := withoutConnection(head)
		response, err := p.ask(forward, emptyWhenLost)
		if err != nil {
			response = []byte("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
		}
		if _, err := client.Write(response); err != nil || !keep {
			return
		}
	}
}

// ask gets the answer to one request.
func (p *proxy) ask(request []byte, emptyWhenLost bool) ([]byte, error) {
	for range attempts {
		answer, err := p.send(request)
		if err != nil {
			return nil, err
		}
		if response, ok := <-answer; ok {
			return response, nil
		}
		if emptyWhenLost {
			return []byte(empty), nil
		}
	}
	return nil, errLost
}

// send writes a request to the shared connection, which it opens if there is none. The channel it
// returns is closed without an answer when the connection ends first.
func (p *proxy) send(request []byte) (chan []byte, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.current == nil || p.current.isEnded() {
		connection, err := net.DialTimeout("tcp", p.to, 5*time.Second)
		if err != nil {
			return nil, err
		}
		p.current = &session{connection: connection, waiting: make(chan chan []byte, waitingMax)}
		go p.current.receive()
	}
	answer := make(chan []byte, 1)
	if !p.current.enqueue(answer) {
		close(answer)
		return answer, nil
	}
	// A write that fails ends the session: its reader sees the same and closes every channel.
	if _, err := p.current.connection.Write(request); err != nil {
		p.current.connection.Close()
	}
	return answer, nil
}

func (s *session) isEnded() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ended
}

// enqueue puts a waiter last, unless the session has ended or too many wait.
func (s *session) enqueue(answer chan []byte) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended {
		return false
	}
	select {
	case s.waiting <- answer:
		return true
	default:
		return false
	}
}

// receive hands answers to those who wait, in order, until the service ends the connection.
func (s *session) receive() {
	defer s.end()
	reader := bufio.NewReader(s.connection)
	for {
		head, err := readHead(reader)
		if err != nil {
			return
		}
		response, err := readBody(reader, head)
		if err != nil {
			return
		}
		select {
		case answer := <-s.waiting:
			answer <- response
		default:
			return // an answer nobody asked for
		}
	}
}

func (s *session) end() {
	s.connection.Close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ended = true
	for {
		select {
		case answer := <-s.waiting:
			close(answer)
		default:
			return
		}
	}
}

// readHead reads up to and with the empty line.
func readHead(reader *bufio.Reader) ([]byte, error) {
	var head []byte
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		head = append(head, line...)
		if len(head) > headBytesMax {
			return nil, errors.New("the head is too long")
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return head, nil
		}
	}
}

// withoutConnection takes the Connection field away, which is not the other side's business, and
// says whether it lets the connection stay open.
func withoutConnection(head []byte) (bool, []byte) {
	keep := !bytes.Contains(head, []byte(" HTTP/1.0\r\n"))
	kept := make([]byte, 0, len(head))
	for _, line := range bytes.SplitAfter(head, []byte("\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !strings.EqualFold(string(name), "connection") {
			kept = append(kept, line...)
			continue
		}
		switch strings.ToLower(strings.TrimSpace(string(value))) {
		case "close":
			keep = false
		case "keep-alive":
			keep = true
		}
	}
	return keep, bytes.Replace(kept, []byte(" HTTP/1.0\r\n"), []byte(" HTTP/1.1\r\n"), 1)
}

// readBody reads a response's body; the answer is head and body, without the Connection field.
func readBody(reader *bufio.Reader, head []byte) ([]byte, error) {
	fields := bufio.NewReader(bytes.NewReader(head[bytes.IndexByte(head, '\n')+1:]))
	header, err := textproto.NewReader(fields).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	length, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil || length < 0 || length > bodyBytesMax {
		return nil, errors.New("an answer without a Content-Length that will do")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(reader, body); err != nil {
		return nil, err
	}
	_, kept := withoutConnection(head)
	return append(kept, body...), nil
}
