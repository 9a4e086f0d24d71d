import { Failure } from './errors.ts'

/** `from -> event -> to`. Whatever is not in the table cannot happen. */
export type Transitions<State extends string, Event extends string> = Readonly<
  Record<State, Readonly<Partial<Record<Event, State>>>>
>

/** The state after `event`; throws `conflict` for a transition the table does not have. */
export function nextState<State extends string, Event extends string>(
  table: Transitions<State, Event>,
  from: State,
  event: Event,
): State {
  const to = table[from][event]
  if (to === undefined) throw new Failure('conflict', `Cannot '${event}' while ${from}.`)
  return to
}
