import { expect, test } from 'vitest'
import { refuseRing } from './refuse-ring.ts'

const cells = { cell: (id: string) => (id === 'ours' ? { name: 'north' } : undefined) }
const refuse = (via: string | undefined) => () => refuseRing(() => via, cells)

test.each([undefined, 'a', 'a, b'])('refuseRing() lets pass what came through %s', (via) => {
  expect(refuse(via)).not.toThrow()
})

test.each([
  ['a cell of this cloud', 'a,ours', /cell north of this same cloud/],
  ['too many clouds', Array(17).fill('a').join(), /at most 16 clouds/],
])('refuseRing() refuses what came through %s', (_what, via, message) => {
  expect(refuse(via)).toThrow(message)
})
