import { statesOfStatus } from '#common/states/instance-states.ts'
import type { ServerState } from '../../../db/server-conditions.ts'

/** The states in which a server shows any of these statuses; empty when none of them exists. */
export function statesOf(statuses: readonly string[]): readonly ServerState[] {
  const pairs = statuses.flatMap((status) => statesOfStatus(status.toUpperCase()))
  const byVm = Map.groupBy(pairs, ({ vm }) => vm)
  return [...byVm].map(([vm, group]) => ({ vm, tasks: group.map(({ task }) => task) }))
}
