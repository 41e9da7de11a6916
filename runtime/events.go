package runtime

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// EventName names a kind of Event. The list is closed: what is added to it is in the changelog.
type EventName string

// What happens in a runtime. The word before the point is the family.
const (
	PassEnded            EventName = "activation.pass_ended" // an actor's pass is over; Outcome is a StopReason, Count its turns
	ActivationLost       EventName = "activation.lost"       // the lease went to another, or nothing certain is known of a commit
	ActivationFailed     EventName = "activation.failed"     // load, migration, hook or an unknown operation; the message is given back, uncounted
	ActivationReleased   EventName = "activation.released"   // an idle lease was given back
	ActivationUnreleased EventName = "activation.unreleased" // it could not be; others wait until it has run out
	HookFailed           EventName = "activation.hook_failed"
	ActorDestroyed       EventName = "actor.destroyed"
	ActorExpired         EventName = "actor.expired" // destroyed by Retention: nobody had used it
	ActorPaused          EventName = "actor.paused"
	ActorResumed         EventName = "actor.resumed"

	MessageEnqueued  EventName = "message.enqueued"  // Outcome "transaction": stored by TellTx, whose transaction may yet be rolled back
	MessageDuplicate EventName = "message.duplicate" // its idempotency key was used before
	MessageRefused   EventName = "message.refused"   // Outcome "full", "conflict", "refused", or "failed" where the flush did
	PolicyPanicked   EventName = "message.policy_panicked"

	TurnCompleted  EventName = "turn.completed"   // committed
	TurnRejected   EventName = "turn.rejected"    // committed as a refusal
	TurnRetried    EventName = "turn.retried"     // the attempt failed; the next one begins after In
	TurnFailed     EventName = "turn.failed"      // the last attempt failed
	TurnHandedBack EventName = "turn.handed_back" // shut down: the message is given back, uncounted

	DeadLetterWritten EventName = "dead_letter.written" // a message was given up
	DeadLetterRetried EventName = "dead_letter.retried" // an operator gave it another chance

	EffectCompleted  EventName = "effect.completed"
	EffectRejected   EventName = "effect.rejected" // the executor refused for good; the actor is told
	EffectRetried    EventName = "effect.retried"
	EffectFailed     EventName = "effect.failed" // for good; the actor is told
	EffectHandedBack EventName = "effect.handed_back"
	EffectUnrecorded EventName = "effect.unrecorded" // its end could not be written: it will be repeated, with the same id
	EffectUntold     EventName = "effect.untold"     // its outcome cannot be encoded for the actor

	ActionRan         EventName = "commit_action.completed" // its transaction may yet fail: the turn's end says so
	ActionRejected    EventName = "commit_action.rejected"
	ActionFailed      EventName = "commit_action.failed" // and with it the attempt at the turn
	ReminderFired     EventName = "reminder.fired"       // an occurrence is in its mailbox
	SendDelivered     EventName = "send.delivered"       // a message between actors is in its mailbox
	BroadcastMade     EventName = "broadcast.published"
	BroadcastAdopted  EventName = "broadcast.taken_over" // its process did not hand it on in time
	FlushWritten      EventName = "flush.written"        // Count items in one transaction, of which Busy had to wait for another session
	FlushRetried      EventName = "flush.retried"        // the database was busy or not writable for a moment
	FlushFailed       EventName = "flush.failed"
	ProcessStarted    EventName = "process.started"
	ProcessStopped    EventName = "process.stopped"
	ProcessRecovered  EventName = "process.recovered" // the work of Count dead processes was given back
	HeartbeatFailed   EventName = "process.heartbeat_failed"
	RetentionPruned   EventName = "retention.pruned"
	SweepDone         EventName = "sweep.swept"
	SupervisorRestart EventName = "supervisor.restarted" // a part of the runtime failed and begins again after In
	PassFailed        EventName = "supervisor.pass_failed"
)

// StopReason says why an actor's pass ended.
type StopReason string

const (
	StopNothingDue StopReason = "nothing_due"
	StopBudget     StopReason = "budget" // Config.PassMessages or PassDuration: others come first
	StopRetry      StopReason = "retry"  // the head waits for its next attempt
	StopLeaseLost  StopReason = "lease_lost"
	StopShutdown   StopReason = "shutdown"
	StopAssisted   StopReason = "assisted" // a call ran its own message where no workers run
	StopSetup      StopReason = "setup_failed"
)

// Event is one thing that happened. Fields that do not apply are zero. There is never an argument, state, result,
// payload, key or error text in it. An actor's id may be personal: it is here for Config.Events, and in no log, span
// or metric of ours.
type Event struct {
	Name      EventName
	Type      string // of the actor
	ActorID   string
	Operation string
	Message   string // the message's id
	Sequence  int64
	Attempt   int
	Origin    string // of the message: client, actor, reminder, effect, operator
	Effect    string // the effect's name
	Action    string // the commit action's name
	Part      string // of the runtime
	Outcome   string
	ErrorKind string // the Go type of the error, or "panic"
	Count     int
	Messages  int // given back
	Effects   int // given back
	Busy      int
	Took      time.Duration // how long it took
	Waited    time.Duration // of a turn: from when the message was due to its claim, by the database's clock
	In        time.Duration // until it is tried again

	cause error // of the database or the library itself: only the log hears its text
}

// kind is how an event is logged: a healthy runtime says nothing at Info.
type kind struct {
	level slog.Level
	says  string
}

// usual says that it is part of a healthy run.
func (k kind) usual() bool { return k.level < slog.LevelInfo }

var kinds = map[EventName]kind{
	PassEnded:            {slog.LevelDebug, "an actor's pass ended"},
	ActivationLost:       {slog.LevelWarn, "an activation was lost"},
	ActivationFailed:     {slog.LevelWarn, "an actor could not be activated here"},
	ActivationReleased:   {slog.LevelDebug, "an idle activation was released"},
	ActivationUnreleased: {slog.LevelWarn, "an activation was not given back and waits for its lease"},
	HookFailed:           {slog.LevelWarn, "a deactivation hook failed"},
	ActorDestroyed:       {slog.LevelDebug, "an actor was destroyed"},
	ActorExpired:         {slog.LevelDebug, "an actor expired"},
	ActorPaused:          {slog.LevelInfo, "an actor was paused"},
	ActorResumed:         {slog.LevelInfo, "an actor was resumed"},
	MessageEnqueued:      {slog.LevelDebug, "a message was stored"},
	MessageDuplicate:     {slog.LevelDebug, "a message was stored before"},
	MessageRefused:       {slog.LevelDebug, "a message was not stored"},
	PolicyPanicked:       {slog.LevelError, "a policy panicked and so refused"},
	TurnCompleted:        {slog.LevelDebug, "a turn committed"},
	TurnRejected:         {slog.LevelDebug, "a turn refused its message"},
	TurnRetried:          {slog.LevelWarn, "a turn failed and is tried again"},
	TurnFailed:           {slog.LevelWarn, "a turn failed for good"},
	TurnHandedBack:       {slog.LevelDebug, "a message was handed back"},
	DeadLetterWritten:    {slog.LevelWarn, "a message is dead"},
	DeadLetterRetried:    {slog.LevelInfo, "a dead letter is tried again"},
	EffectCompleted:      {slog.LevelDebug, "an effect was performed"},
	EffectRejected:       {slog.LevelDebug, "an effect was refused"},
	EffectRetried:        {slog.LevelWarn, "an effect failed and is tried again"},
	EffectFailed:         {slog.LevelWarn, "an effect failed for good"},
	EffectHandedBack:     {slog.LevelDebug, "an effect was handed back"},
	EffectUnrecorded:     {slog.LevelError, "the end of an effect was not recorded and it will be repeated"},
	EffectUntold:         {slog.LevelError, "the outcome of an effect cannot be told to its actor"},
	ActionRan:            {slog.LevelDebug, "a commit action ran"},
	ActionRejected:       {slog.LevelDebug, "a commit action refused"},
	ActionFailed:         {slog.LevelDebug, "a commit action failed"},
	ReminderFired:        {slog.LevelDebug, "a reminder fired"},
	SendDelivered:        {slog.LevelDebug, "a message between actors was delivered"},
	BroadcastMade:        {slog.LevelDebug, "a broadcast was handed on"},
	BroadcastAdopted:     {slog.LevelDebug, "a broadcast was taken over"},
	FlushWritten:         {slog.LevelDebug, "a flush was written"},
	FlushRetried:         {slog.LevelDebug, "a flush waits for the database"},
	FlushFailed:          {slog.LevelWarn, "a flush failed"},
	ProcessStarted:       {slog.LevelDebug, "the process was registered"},
	ProcessStopped:       {slog.LevelDebug, "the process left"},
	ProcessRecovered:     {slog.LevelInfo, "recovered the work of dead processes"},
	HeartbeatFailed:      {slog.LevelWarn, "the heartbeat failed"},
	RetentionPruned:      {slog.LevelDebug, "finished messages were pruned"},
	SweepDone:            {slog.LevelDebug, "the history of destroyed actors was swept"},
	SupervisorRestart:    {slog.LevelError, "a part of the runtime stopped and is started again"},
	PassFailed:           {slog.LevelWarn, "a pass failed"},
}

// Level is at which level an event is logged.
func (n EventName) Level() slog.Level { return kinds[n].level }

// EventNames lists all names.
func EventNames() []EventName {
	names := make([]EventName, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	return names
}

// observer hands events to the log and to Config.Events.
type observer struct {
	log    *slog.Logger
	sink   func(context.Context, Event)
	broken atomic.Bool // the sink has panicked, and that was logged
}

// curious says whether anybody hears of what is usual. Where nobody does, what an event says is not even looked up.
func (o *observer) curious() bool {
	return o.sink != nil || o.log.Enabled(context.Background(), slog.LevelDebug)
}

func (o *observer) emit(ctx context.Context, e Event) {
	if k := kinds[e.Name]; o.log.Enabled(ctx, k.level) {
		o.log.LogAttrs(ctx, k.level, k.says, e.attrs()...)
	}
	if o.sink != nil {
		e.cause = nil
		o.hand(ctx, e)
	}
}

// hand calls the sink, which is application code.
func (o *observer) hand(ctx context.Context, e Event) {
	returned := false
	defer func() {
		if !returned && recover() != nil && !o.broken.Swap(true) {
			o.log.LogAttrs(ctx, slog.LevelError, "Config.Events panicked; this is said once", slog.String("event", string(e.Name)))
		}
	}()
	o.sink(ctx, e)
	returned = true
}

// attrs are the event's fields that are set, in the words of its columns. The actor's id is not among them.
func (e *Event) attrs() []slog.Attr {
	list := append(make([]slog.Attr, 0, 12), slog.String("event", string(e.Name)))
	for _, f := range [...]struct{ key, value string }{
		{"type", e.Type}, {"operation", e.Operation}, {"message", e.Message}, {"origin", e.Origin}, {"effect", e.Effect},
		{"action", e.Action}, {"part", e.Part}, {"outcome", e.Outcome}, {"error_kind", e.ErrorKind},
	} {
		if f.value != "" {
			list = append(list, slog.String(f.key, f.value))
		}
	}
	for _, f := range [...]struct {
		key   string
		value int64
	}{{"sequence", e.Sequence}, {"attempt", int64(e.Attempt)}, {"count", int64(e.Count)}, {"busy", int64(e.Busy)},
		{"messages", int64(e.Messages)}, {"effects", int64(e.Effects)}} {
		if f.value != 0 {
			list = append(list, slog.Int64(f.key, f.value))
		}
	}
	for _, f := range [...]struct {
		key   string
		value time.Duration
	}{{"took", e.Took}, {"waited", e.Waited}, {"in", e.In}} {
		if f.value != 0 {
			list = append(list, slog.Duration(f.key, f.value))
		}
	}
	if e.cause != nil {
		list = append(list, slog.String("error", e.cause.Error()))
	}
	return list
}
