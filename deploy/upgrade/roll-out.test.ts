import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { readRelease } from '#common/release.ts'
import type { HealthSource } from './health.ts'
import type { Kind, Part } from './part.ts'
import { planLines, rollOut } from './roll-out.ts'

const HEALTHY: HealthSource = { admin: undefined, gateways: [], countStuck: async () => 0 }
const OLD = { folder: '/old', release: '0.0.9', isThis: false }
const NEW = { folder: '/new', release: readRelease(), isThis: true }
const RELEASE = readRelease()

/** A process that does as it is told; `fails` when it is replaced. */
class ScriptedPart implements Part {
  readonly name: string
  readonly kind: Kind
  readonly #fails: boolean
  #now: typeof OLD | undefined = OLD

  constructor(kind: Kind, nth: number, fails = false) {
    this.name = `${kind}-${nth}`
    this.kind = kind
    this.#fails = fails
  }

  code() {
    return this.#now
  }

  async replace() {
    this.#now = NEW
    if (this.#fails) throw new Failure('unavailable', 'it is no good')
  }

  async assertRuns() {}

  async putBack() {
    this.#now = OLD
    return true
  }
}

function rolled(parts: readonly Part[], change: Partial<Parameters<typeof rollOut>[0]> = {}) {
  const said: string[] = []
  const rollout = { parts, health: HEALTHY, isBack: false, watchMs: 0, howBack: 'Go back.' }
  const ended = rollOut({ ...rollout, ...change }, (line) => said.push(line.split(/ +/)[0] ?? ''))
  return { said, ended }
}

test.each([
  [false, ['gateway-1', 'gateway-2', 'cell-1', 'compute-1']],
  [true, ['compute-1', 'cell-1', 'gateway-1', 'gateway-2']],
])('the order, back: %s', async (isBack, order) => {
  const parts = [
    new ScriptedPart('compute', 1),
    new ScriptedPart('gateway', 1),
    new ScriptedPart('cell', 1),
    new ScriptedPart('gateway', 2),
  ]
  expect(planLines(parts, isBack).map((line) => line.split(/ +/)[0])).toEqual(order)

  const { said, ended } = rolled(parts, { isBack })
  await ended

  expect(said).toEqual(order)
  expect(parts.every((part) => part.code() === NEW)).toBe(true)
})

test('it stops at a process that is no good, puts it back, and goes on from there the next time', async () => {
  const gateway = new ScriptedPart('gateway', 1)
  const bad = new ScriptedPart('cell', 1, true)
  const compute = new ScriptedPart('compute', 1)

  await expect(rolled([gateway, bad, compute]).ended).rejects.toThrow(
    'The upgrade stopped at cell-1: it is no good\ncell-1 runs 0.0.9 again.\nReplaced: gateway-1. Not replaced: compute-1.\nRemove the cause and run the same command again: it goes on where it stopped. Go back.',
  )

  const fixed = new ScriptedPart('cell', 1)
  await rolled([gateway, fixed, compute]).ended
  expect(planLines([gateway, fixed, compute], false).join('\n')).toMatch(
    new RegExp(`^(\\S+ +runs ${RELEASE} already\\n?){3}$`),
  )
})

test('it stops where an operation gets stuck after a process was replaced', async () => {
  let looks = 0
  const health: HealthSource = {
    ...HEALTHY,
    // The first look is before the upgrade.
    countStuck: async () => (looks++ > 1 ? 1 : 0),
  }
  const { ended } = rolled([new ScriptedPart('gateway', 1), new ScriptedPart('cell', 1)], {
    health,
  })

  await expect(ended).rejects.toThrow('stopped at cell-1: 1 more operations are stuck')
})
