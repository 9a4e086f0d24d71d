import { expect, test } from 'vitest'
import {
  NODE_EVENTS,
  NODE_RULES,
  NODE_STATES,
  type NodeState,
  nextNodeState,
} from './node-states.ts'

test('work under way comes to its target, and may be given up or done again', () => {
  for (const state of NODE_STATES) {
    const { target, after } = NODE_RULES[state]
    if (target === null) expect(after.done, state).toBeUndefined()
    else expect(nextNodeState(state, 'done')).toBe(target)
  }
})

test('no node is given to a server with another’s data, and none is lost on the way', () => {
  const leadingTo = (wanted: string) =>
    NODE_STATES.filter((state) => Object.values(NODE_RULES[state].after).includes(wanted as never))

  expect(leadingTo('available')).toEqual(['cleaning'])
  expect(nextNodeState('active', 'release')).toBe('cleaning')
  const reached = new Set<NodeState>(['enrolled'])
  // Iterating over a set also visits members added during the iteration.
  for (const state of reached)
    for (const next of Object.values(NODE_RULES[state].after)) reached.add(next)
  expect([...reached].toSorted()).toEqual([...NODE_STATES].toSorted())
})

test('a transition that the table lacks is a conflict', () => {
  for (const state of NODE_STATES)
    for (const event of NODE_EVENTS.filter((one) => !(one in NODE_RULES[state].after)))
      expect(() => nextNodeState(state, event)).toThrow(state)
})
