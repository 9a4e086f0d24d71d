import { expect, test } from 'vitest'
import type { ComputeDeps } from '../compute.ts'
import { unreachableCells } from './unreachable-cells.ts'

test('a cell that has not started yet, or has not reported since the gateway started, is not called unreachable; one that disappeared is', async () => {
  const cell = {
    id: 'c',
    name: 'edge',
    isReachable: false,
    lastHeartbeatAt: undefined as number | undefined,
  }
  let isUnreachable = true
  const events: string[] = []
  const log = {
    warn: (_: unknown, message: string) => events.push(message),
    info: (_: unknown, message: string) => events.push(message),
  }
  const deps = {
    cells: { cells: () => [cell], isUnreachable: () => isUnreachable },
    log,
  } as unknown as ComputeDeps
  const reconciler = unreachableCells(deps)
  const { signal } = new AbortController()
  const round = () => reconciler.round(signal)

  await round()
  Object.assign(cell, { isReachable: true, lastHeartbeatAt: 1 })
  await round()
  expect(events).toEqual([])

  cell.isReachable = false
  isUnreachable = false
  await round()
  expect(events).toEqual([])

  isUnreachable = true
  await round()
  await round()
  cell.isReachable = true
  await round()
  expect(events).toEqual(['cell is unreachable', 'cell is reachable again'])
})
