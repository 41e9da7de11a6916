package actors

import "context"

// QueryType is a read of state S that takes its place in the mailbox.
type QueryType[S, In, Out any] struct {
	typ *Type[S]
	op  *Operation
}

// BareQuery is a query without input.
type BareQuery[S, Out any] struct{ q *QueryType[S, None, Out] }

// Query adds a query without input to a type. It runs in order with the messages, stores its result like one, and
// moves no revision. It must not change what it is given.
func Query[S, Out any](t *Type[S], name string, read func(S) Out) *BareQuery[S, Out] {
	return &BareQuery[S, Out]{QueryWith(t, name, func(s S, _ None) (Out, error) { return read(s), nil })}
}

// QueryWith adds a query with an input, which may refuse it.
func QueryWith[S, In, Out any](t *Type[S], name string, read func(S, In) (Out, error)) *QueryType[S, In, Out] {
	op := newOperation[In](name)
	op.ReadOnly = true
	op.perform = func(state any, _ *Execution, in any) (any, error) { return read(*state.(*S), in.(In)) }
	t.def.addOperation(op)
	return &QueryType[S, In, Out]{t, op}
}

// Name is the operation's stored name.
func (q *QueryType[S, In, Out]) Name() string { return q.op.Name }

// Ask runs the query in its turn and returns its result. Errors are those of MessageType.Ask.
func (q *QueryType[S, In, Out]) Ask(ctx context.Context, c Client, ref Ref[S], in In, opts ...CallOption) (Out, error) {
	return (&MessageType[S, In, Out]{q.typ, q.op}).Ask(ctx, c, ref, in, opts...)
}

// Name is the operation's stored name.
func (q *BareQuery[S, Out]) Name() string { return q.q.op.Name }

// Ask runs the query in its turn and returns its result. Errors are those of MessageType.Ask.
func (q *BareQuery[S, Out]) Ask(ctx context.Context, c Client, ref Ref[S], opts ...CallOption) (Out, error) {
	return q.q.Ask(ctx, c, ref, None{}, opts...)
}
