package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// UnsupportedServer reports a server that is too old or of another family.
type UnsupportedServer struct{ Version string }

func (e *UnsupportedServer) Error() string {
	return fmt.Sprintf("server version %q: MySQL must be 8.0 or later, MariaDB 10.6 or later", e.Version)
}

// PacketLimit reports a server whose max_allowed_packet is too small for the documents that it is to keep.
type PacketLimit struct {
	Packet   int // the server's max_allowed_packet
	Document int // Config.Document
}

func (e *PacketLimit) Error() string {
	return fmt.Sprintf("max_allowed_packet is %d bytes, and documents may have %d: raise the one to %d, or lower Config.Document and the runtime's limits",
		e.Packet, e.Document, e.Document+packetOverhead)
}

// ForeignSchema reports tables under the store's prefix that something else made.
type ForeignSchema struct{ Prefix, Identity string }

func (e *ForeignSchema) Error() string {
	return fmt.Sprintf("the tables with prefix %s belong to %q, not to %q", e.Prefix, e.Identity, identity)
}

// WeakDurability reports a server that acknowledges commits which a crash of its machine may lose.
type WeakDurability struct {
	Setting string
	Value   int
}

func (e *WeakDurability) Error() string {
	return fmt.Sprintf("%s is %d, not 1: a crash of the server's machine may lose commits that were acknowledged", e.Setting, e.Value)
}

// tooLarge reports an item that does not fit into one packet.
type tooLarge struct{ bytes, limit int }

func (e *tooLarge) Error() string {
	return fmt.Sprintf("a row of %d bytes does not fit into a packet of %d (max_allowed_packet)", e.bytes, e.limit)
}

var errClosed = errors.New("the store is closed")

// code is the server's error number, or 0.
func code(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// kind is what an error asks of whoever gets it.
type kind int

const (
	plain       kind = iota
	culprit          // about one item's content
	again            // worth another try of the whole transaction; the connection is sound
	broken           // as again, on another connection
	notWritable      // the server answers and takes no writes now; the connection is to be given up
)

func classify(err error) kind {
	switch code(err) {
	case 1213, 1205, 1020, 3572, 1412, 1615: // deadlock, lock wait, record changed, nowait, table definition changed, re-prepare
		return again
	case 1290, 1836, 1792, 1207, 1874, 1021, 1114: // read-only in each of its forms, disk or table full
		return notWritable
	case 1040, 1203, 1226, 1053, 1927, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1189, 1190, 4031, 1317, 3024, 1969, 1047, 3101, 1637, 3168:
		return broken // too many connections, shutdown, killed, interrupted, aborted, timed out, not a primary
	case 1062, 1586, 1406, 1366, 1364, 1048, 1264, 1265, 1292, 1367, 1690, 3819, 4025, 1153, 1118, 1301, 1105, 1267, 1411, 3854:
		return culprit
	case 0:
	default:
		return plain
	}
	if _, failed := errors.AsType[*store.ActionFailed](err); failed || errors.Is(err, store.ErrActionFenced) {
		return plain
	}
	switch {
	case err == nil:
		return plain
	case errors.Is(err, mysql.ErrPktTooLarge):
		return culprit
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync), errors.Is(err, mysql.ErrPktSyncMul), errors.Is(err, mysql.ErrBusyBuffer),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, errLimit):
		return broken
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errClosed), errors.Is(err, sql.ErrTxDone):
		return plain
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return broken
	}
	return culprit // found by this package: a row that contradicts the item
}

// errLimit is the cause of a statement that took longer than Config.Limit.
var errLimit = errors.New("the statement took too long")

// translate gives an error of the driver the meaning that the contract names.
func translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, store.ErrUnclear), errors.Is(err, store.ErrTransient), errors.Is(err, store.ErrNotWritable):
		return fmt.Errorf("%s: %w", doing, err)
	}
	switch classify(err) {
	case again, broken:
		return fmt.Errorf("%s: %w: %w", doing, store.ErrTransient, err)
	case notWritable:
		return fmt.Errorf("%s: %w: %w", doing, store.ErrNotWritable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
