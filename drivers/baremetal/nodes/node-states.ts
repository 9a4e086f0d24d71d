import { Failure } from '#common/errors.ts'

export const NODE_STATES = [
  'enrolled',
  'inspecting',
  'inspect-failed',
  'cleaning',
  'clean-failed',
  'available',
  'deploying',
  'deploy-failed',
  'active',
] as const
export type NodeState = (typeof NODE_STATES)[number]

export const NODE_EVENTS = [
  'inspect',
  'clean',
  'take',
  'rebuild',
  'release',
  'done',
  'fail',
] as const
export type NodeEvent = (typeof NODE_EVENTS)[number]

export interface NodeStateRule {
  /** The state that work under way leads to when it succeeds; null: stable, no work is under way. */
  readonly target: NodeState | null
  readonly after: Readonly<Partial<Record<NodeEvent, NodeState>>>
}

/** Everything that can happen to a node: transitions outside the table are impossible. */
export const NODE_RULES: Readonly<Record<NodeState, NodeStateRule>> = {
  enrolled: { target: null, after: { inspect: 'inspecting', clean: 'cleaning' } },
  inspecting: {
    target: 'cleaning',
    after: { inspect: 'inspecting', done: 'cleaning', fail: 'inspect-failed' },
  },
  'inspect-failed': { target: null, after: { inspect: 'inspecting' } },
  cleaning: {
    target: 'available',
    after: { clean: 'cleaning', done: 'available', fail: 'clean-failed', inspect: 'inspecting' },
  },
  'clean-failed': { target: null, after: { clean: 'cleaning', inspect: 'inspecting' } },
  available: { target: null, after: { take: 'deploying', inspect: 'inspecting' } },
  // A half-written disk may be written again, and is erased with its server.
  deploying: {
    target: 'active',
    after: { done: 'active', fail: 'deploy-failed', release: 'cleaning' },
  },
  // A server keeps a node that could not be rebuilt.
  'deploy-failed': { target: null, after: { rebuild: 'deploying', release: 'cleaning' } },
  active: { target: null, after: { rebuild: 'deploying', release: 'cleaning' } },
}

/** The state after an event. Throws `conflict` for one that cannot happen now. */
export function nextNodeState(state: NodeState, event: NodeEvent): NodeState {
  const next = NODE_RULES[state].after[event]
  if (next === undefined)
    throw new Failure('conflict', `A node that is ${state} cannot do this: ${event}.`)
  return next
}
