import { expect } from 'vitest'
import { newId } from '#common/ids.ts'
import { startAdminNested } from '../env/admin-nested.ts'
import type { Cloud } from '../env/cloud.ts'
import type { DrivenHost } from '../env/driven-host.ts'

interface Answer {
  readonly hidden: string | null
  readonly cells: readonly { readonly name: string; readonly clouds: readonly object[] }[]
  /** Of a refusal. */
  readonly detail: string
}

/**
 * Checks what the first of three clouds shows of the cells of the others, of which each is a host of the one before, and that
 * it shows nothing to the ordinary accounts of `hosts`.
 */
export async function expectCellsOfLevels(
  [top, middle, bottom]: readonly Cloud[],
  hosts: readonly DrivenHost[],
): Promise<void> {
  const cellsOf = (host: DrivenHost, through = '') =>
    top!.as('admin').get<Answer>(`/federation/v1/hosts/${host.id}/cells${through}`)
  const NOTHING = { hidden: 'not-allowed', count: 0, cells: [] }
  expect((await cellsOf(hosts[0]!)).body).toEqual(NOTHING)

  await using inner = await startAdminNested(middle!, bottom!)
  await using outer = await startAdminNested(top!, middle!)
  const north = { name: 'north', state: 'up', servers: expect.any(Number) }
  const { body: second } = await cellsOf(outer)
  expect(second).toMatchObject({ hidden: null, count: 1, cells: [north] })
  const memory = { memory_mb: expect.any(Number), memory_mb_used: 0 }
  const cloud = { id: inner.id, name: inner.name, state: 'up', servers: 0, ...memory }
  expect(second.cells[0]!.clouds).toContainEqual(cloud)
  expect((await cellsOf(outer, `?through=${inner.id}`)).body).toMatchObject({
    hidden: null,
    count: 1,
    cells: [{ ...north, hosts: 1, hosts_up: 1, clouds: [] }],
  })
  const ordinary = await cellsOf(outer, `?through=${hosts[1]!.id}`)
  expect(ordinary.body).toEqual(NOTHING)

  const nowhere = await cellsOf(outer, `?through=${newId()}`)
  expect(nowhere.status).toBe(404)
  expect(nowhere.body.detail).toContain('answered 404')
  const [noCloud] = bottom!.hosts
  const leaf = await cellsOf(outer, `?through=${inner.id},${noCloud!.id}`)
  expect(leaf.status).toBe(409)
  expect(leaf.body.detail).toContain('is no cloud and has no cells')
  expect((await cellsOf(outer, '?through=north')).status).toBe(400)
}
