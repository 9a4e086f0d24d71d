import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { CELLS_BELOW_MAX, CLOUDS_BELOW_MAX } from '#openapi/wire/lookup.ts'
import { cellsThrough } from './cells-through.ts'
import type { Cloud } from './cloud/cloud.ts'

const SIGNAL = AbortSignal.timeout(60_000)
const NEXT = newId<string>()

interface Asked {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly via?: readonly string[]
}

/** A cloud that answers with these bodies by path, or fails so. */
function cloudOf(answers: Readonly<Record<string, object | Failure>>): {
  readonly cloud: Cloud
  readonly asked: Asked[]
} {
  const asked: Asked[] = []
  const ask = async (...[, , , path, { query, via }]: Parameters<Cloud['ask']>) => {
    asked.push({ path, ...(query && { query }), ...(via && { via }) })
    const body = answers[path]
    if (body instanceof Failure) throw body
    return { body, headers: {} }
  }
  return { cloud: { ask } as unknown as Cloud, asked }
}

const figures = { servers: 1, hosts: 1, hosts_up: 1, memory_mb: 64, memory_mb_used: 1 }
const cell = (clouds: readonly object[]) => ({ name: 'north', state: 'up', ...figures, clouds })
const cloudIn = () => {
  const memory = { memory_mb: null, memory_mb_used: 0 }
  return { id: newId<string>(), name: 'lab', state: 'down', servers: 0, ...memory }
}
const of = <T>(many: number, make: () => T) => Array.from({ length: many }, make)
const countOf = (cells: readonly { readonly clouds: readonly object[] }[]) =>
  cells.reduce((sum, { clouds }) => sum + clouds.length, 0)

test('the next cloud is asked for what is below it, with the cells that the question came through', async () => {
  const further = [newId<string>(), newId<string>()]
  const body = { hidden: null, count: 1, cells: [cell([cloudIn()])] }
  const { cloud, asked } = cloudOf({ [`/hosts/${NEXT}/cells`]: body })

  const found = await cellsThrough(cloud, { through: [NEXT, ...further], via: ['a'] }, SIGNAL)
  await cellsThrough(cloud, { through: [NEXT], via: [] }, SIGNAL)

  expect(found).toMatchObject({
    hidden: null,
    count: 1,
    cells: [{ name: 'north', hostsUp: 1, clouds: [{ name: 'lab', memoryMb: null }] }],
  })
  const path = `/hosts/${NEXT}/cells`
  expect(asked).toEqual([
    { path, query: { through: further.join(',') }, via: ['a'] },
    { path, query: {}, via: [] },
  ])
})

test('of a cloud that answers more than fits into a message the first are taken', async () => {
  const many = of(CELLS_BELOW_MAX + 1, () => cell(of(CLOUDS_BELOW_MAX, cloudIn)))
  const body = { hidden: null, count: many.length, cells: many }
  const ids = of(2, () => newId<string>())
  const cells = ids.map((id) => ({
    ...{ id, name: 'n', is_enabled: true, is_reachable: true, loss: null, summary: null },
  }))
  const hosts = of(CLOUDS_BELOW_MAX + 1, () => ({
    ...{ id: newId<string>(), name: 'lab', cell_id: ids[0]!, is_up: true, is_cordoned: false },
    ...{ servers: 0, total: null, used: { memory_mb: 0 }, ratios: { memory_mb: 1 } },
  }))
  const { cloud } = cloudOf({
    [`/hosts/${NEXT}/cells`]: body,
    '/cells': { cells },
    '/hosts': { hosts },
  })

  const below = await cellsThrough(cloud, { through: [NEXT], via: [] }, SIGNAL)
  const own = await cellsThrough(cloud, { through: [], via: [] }, SIGNAL)

  expect([below.count, below.cells.length]).toEqual([many.length, CELLS_BELOW_MAX])
  expect(countOf(below.cells)).toBe(CLOUDS_BELOW_MAX)
  expect(countOf(own.cells)).toBe(CLOUDS_BELOW_MAX)
})

test('what a cloud on the way refuses is said in its words; what it may not show is hidden', async () => {
  const detail = `GET /hosts/${NEXT}/cells of federation answered 409: its clouds form a ring.`
  const ring = new Failure('conflict', 'The nested cloud refused.', { detail })
  const path = `/hosts/${NEXT}/cells`
  const asking = (failure: Failure) =>
    cellsThrough(cloudOf({ [path]: failure }).cloud, { through: [NEXT], via: [] }, SIGNAL)

  await expect(asking(ring)).rejects.toMatchObject({
    kind: 'conflict',
    message: `The nested cloud refused. ${detail}`,
  })
  expect(await asking(new Failure('forbidden', 'no'))).toMatchObject({ hidden: 'not-allowed' })
  await expect(asking(new Failure('unavailable', 'away'))).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'away',
  })
})
