package actors

// ObservableType is a named projection of S to V that pages can follow. Only the news that it changed is stored and
// sent; its value is rendered by the server for each page.
type ObservableType[S, V any] struct {
	typ   *Type[S]
	proj  *Projection
	value func(S) V
}

// SharedType is an observable whose value itself may be stored and sent to every subscriber.
type SharedType[S, V any] struct{ ObservableType[S, V] }

// Observed is an ObservableType or a SharedType.
type Observed[S, V any] interface {
	// Of computes the observable for a state; it must not change it.
	Of(state S) V
	// Actor is the type that has the observable.
	Actor() *Type[S]
	// Projection is the observable without its type parameters.
	Projection() *Projection
}

// Observable adds an observable to a type. The function read must not change what it is given.
func Observable[S, V any](t *Type[S], name string, read func(S) V) *ObservableType[S, V] {
	o := newObservable(t, name, read, false)
	return &o
}

// Shared adds an observable whose value may be stored and sent to everybody who may subscribe: never for what
// depends on who looks.
func Shared[S, V any](t *Type[S], name string, read func(S) V) *SharedType[S, V] {
	return &SharedType[S, V]{newObservable(t, name, read, true)}
}

func newObservable[S, V any](t *Type[S], name string, read func(S) V, shared bool) ObservableType[S, V] {
	p := &Projection{Name: name, Shared: shared, value: func(state any) any { return read(*state.(*S)) }}
	if err := checkName("observable", name); err != nil {
		t.def.problem("%w", err)
	}
	for _, other := range t.def.observables {
		if other.Name == name {
			t.def.problem("two observables are named %q", name)
		}
	}
	t.def.observables = append(t.def.observables, p)
	return ObservableType[S, V]{t, p, read}
}

// Of computes the observable for a state.
func (o *ObservableType[S, V]) Of(state S) V { return o.value(state) }

// Actor is the type that has the observable.
func (o *ObservableType[S, V]) Actor() *Type[S] { return o.typ }

// Projection is the observable without its type parameters.
func (o *ObservableType[S, V]) Projection() *Projection { return o.proj }

// Name is the observable's stored name.
func (o *ObservableType[S, V]) Name() string { return o.proj.Name }
