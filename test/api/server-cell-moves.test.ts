import { expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation, untilOperation } from '#test/env/api/operations.ts'
import {
  act,
  deleteServer,
  SERVERS,
  type Server,
  showServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { WeirCommand } from '#test/env/weir-command.ts'
import {
  admin,
  askToMove,
  cellOf,
  cloud,
  demo,
  ended,
  freeServer,
  guestsOf,
  hostOf,
  moved,
  type Named,
  north,
  ROOT,
  saved,
  serverIn,
  shown,
  south,
  stranger,
  untilNothingSaved,
  usage,
  useTwoCells,
  waitFor,
} from './cell-moves.ts'

// Goal: a server changes cells and is the same server there, in one cell at a time; where it cannot, it is where it was.

useTwoCells()

test('a server that runs is the same server in another cell, built from its own disk', async () => {
  const metadata = { role: 'web' }
  const { id, ...before } = await freeServer(north, { name: 'roaming', metadata })
  const charged = await usage()
  const ports = (
    await demo.get<{ ports: readonly Named[] }>(`/networking/v2.0/ports?device_id=${id}`)
  ).body.ports

  const operation = await moved(id, { cell: south.name, reason: 'full' })

  expect(operation).toMatchObject({ state: 'done' })
  expect(operation.message).toMatch(/^Its disk was saved in two passes: .* while it ran, .* off\.$/)
  const after = await showServer(demo, id)
  for (const field of ['name', 'addresses', 'metadata', 'created', 'key_name'])
    expect(after[field], field).toEqual((before as Server)[field])
  const { image, tiny } = cloud.catalog
  expect(after).toMatchObject({ status: 'ACTIVE', image: { id: image }, flavor: { id: tiny } })
  expect(await cellOf(id)).toBe(south.name)
  expect(await guestsOf(north)).not.toContain(id)
  expect(await guestsOf(south)).toContain(id)
  expect(await usage()).toEqual(charged)
  expect(
    (
      await demo.get<{ ports: readonly Named[] }>(`/networking/v2.0/ports?device_id=${id}`)
    ).body.ports.map((port) => port.id),
  ).toEqual(ports.map((port) => port.id))
  const { output } = (await act(demo, id, { 'os-getConsoleOutput': {} })).body
  expect(output).toContain('from image roaming-shelved and its changes')
  await untilNothingSaved(id)

  // It is acted on like any other server, and moves back.
  await act(demo, id, { reboot: { type: 'HARD' } })
  await untilStatus(demo, id, 'ACTIVE')
  expect(await moved(id)).toMatchObject({ state: 'done' })
  expect(await cellOf(id)).toBe(north.name)
  await deleteServer(demo, id)
})

test('a forecast says what a move would do, to users as far as they may move their servers', async () => {
  const { id } = await freeServer(north)
  const forecast = (by: ApiClient, cell?: string) =>
    by.get(`${ROOT}/servers/${id}/move${cell === undefined ? '' : `?cell=${cell}`}`)

  expect((await forecast(admin)).body).toEqual({ cell: south.name, obstacle: null })
  expect((await forecast(admin, north.name)).body).toEqual({
    cell: null,
    obstacle: `Server ${id} cannot be moved: it is in cell ${north.name}. Name another cell.`,
  })
  expect((await forecast(demo)).body).toEqual({
    cell: null,
    obstacle: `Server ${id} cannot be moved: no policy lets users move their servers. Ask an administrator.`,
  })
  expect((await forecast(stranger)).status).toBe(404)
  expect((await forecast(admin, 'nowhere')).status).toBe(404)
  await deleteServer(demo, id)
})

test('the command line shows before a drain which servers another cell would take, and why not the others', async () => {
  const command = new WeirCommand(cloud, 'admin')
  const free = await freeServer(south, { name: 'free' })
  const bound = await serverIn(south, { name: 'bound-here' })
  const host = south.computes[0]!.name
  const obstacle = /^Server \S+ cannot be moved: .*AvailabilityZoneFilter/

  for (const drain of [`host drain ${host}`, `cell drain ${south.name}`]) {
    const dryRun = `${drain} --to-other-cells --dry-run`
    const servers = await command.json<readonly { id: string; move: object }[]>(dryRun)
    const moveOf = (id: string) => servers.find((each) => each.id === id)?.move
    expect(moveOf(free.id)).toEqual({ cell: north.name, obstacle: null })
    expect(moveOf(bound.id)).toEqual({ cell: null, obstacle: expect.stringMatching(obstacle) })
    const { out } = await command.run(dryRun)
    expect(out).toMatch(/^SERVER +STATUS +ID +OTHER CELL +OBSTACLE/)
  }
  expect((await command.run('server move free --dry-run')).out).toMatch(/CELL +north/)
  const stays = await command.run(`server move free --cell ${south.name} --dry-run`)
  expect(stays.out).toMatch(/OBSTACLE +Server \S+ cannot be moved: it is in cell south/)
  const nowhere = await command.run('server move free --cell nowhere --dry-run')
  expect(nowhere).toMatchObject({ code: 3 })
  expect(await cellOf(free.id)).toBe(south.name)
  for (const { id } of [free, bound]) await deleteServer(demo, id)
})

test('a server that is shut off stays so', async () => {
  const { id } = await freeServer(north)
  await act(demo, id, { 'os-stop': null })
  await untilStatus(demo, id, 'SHUTOFF')

  const { state, message } = await moved(id, { cell: south.name })

  expect(state).toBe('done')
  expect(message).toMatch(/^Its disk was saved in one pass: .* while it was off\.$/)
  expect(await showServer(demo, id)).toMatchObject({ status: 'SHUTOFF' })
  expect(await cellOf(id)).toBe(south.name)
  await deleteServer(demo, id)
})

test('what cannot be moved is refused, with the reason, and keeps running', async () => {
  const { id } = await serverIn(north, { name: 'bound' })
  const refusal = async (body: object) => {
    const { status, body: answer } = await askToMove(id, body)
    return { status, answer: JSON.stringify(answer) }
  }

  const bound = await refusal({ cell: south.name })
  expect(bound.status).toBe(409)
  expect(bound.answer).toContain('AvailabilityZoneFilter left no cell')
  const here = await refusal({ cell: north.name })
  expect(here.status).toBe(409)
  expect(here.answer).toContain(`it is in cell ${north.name}. Name another cell.`)
  expect((await refusal({ cell: 'nowhere' })).status).toBe(404)
  await act(demo, id, { pause: null })
  await untilStatus(demo, id, 'PAUSED')
  expect((await refusal({ cell: south.name })).answer).toContain('it is paused')
  await act(demo, id, { unpause: null })
  await untilStatus(demo, id, 'ACTIVE')
  expect((await demo.post(`${ROOT}/servers/${id}/move`, {})).status).toBe(403)
  await deleteServer(demo, id)
})

test('users move their servers where the placement policy lets them, and see and cancel no other moves', async () => {
  const { id } = await freeServer(north)
  const ask = (by: ApiClient) =>
    by.post<Operation>(`${ROOT}/servers/${id}/move`, { cell: south.name })
  const operation = (of: string) => `${ROOT}/operations/${of}`
  const isForbidden = await ask(demo)
  expect(isForbidden.status).toBe(403)
  expect(JSON.stringify(isForbidden.body)).toContain('no policy lets users move their servers')

  const policy = `${ROOT}/placement-policies`
  await admin.post(policy, { name: 'roam', is_default: true, users_may_move: true })
  const begun = await waitFor('every gateway to have the policy', async () => {
    const { status, body } = await ask(demo)
    return status === 202 ? body : undefined
  })
  expect((await stranger.get(operation(begun.id))).status).toBe(404)
  expect((await stranger.post(`${operation(begun.id)}/cancel`, {})).status).toBe(404)
  expect(await endOfOperation(demo, begun.id)).toMatchObject({ state: 'done' })
  expect(await cellOf(id)).toBe(south.name)

  expect((await stranger.post(`${ROOT}/servers/${id}/move`, {})).status).toBe(404)
  const host = await hostOf(south)
  const { body: drain } = await admin.post<Operation>(`${ROOT}/hosts/${host}/drain`, {})
  expect((await demo.get(operation(drain.id))).status).toBe(404)
  expect((await demo.post(`${operation(drain.id)}/cancel`, {})).status).toBe(404)
  expect((await admin.post(`${operation(drain.id)}/cancel`, {})).status).toBe(200)
  await admin.call('PATCH', `${ROOT}/hosts/${host}`, { is_cordoned: false })
  await admin.delete(`${policy}/roam`)
  await deleteServer(demo, id)
})

test('a repeat returns the move that is under way, and another cell is refused meanwhile', async () => {
  const { id } = await freeServer(north)
  north.computes[0]!.fail({ method: 'beginChanges', effect: { do: 'hang' } })
  const { body: first } = await askToMove(id, { cell: south.name })

  const { status, body: again } = await askToMove(id)
  expect([status, again.id]).toEqual([202, first.id])
  const { status: elsewhere } = await askToMove(id, { cell: north.name })
  expect(elsewhere).toBe(409)

  north.computes[0]!.fail()
  expect(await ended(first.id)).toMatchObject({ state: 'done' })
  await deleteServer(demo, id)
})

test('a move that is cancelled brings the server back where it was', async () => {
  const { id } = await freeServer(north)
  north.computes[0]!.fail({ method: 'takeChanges', effect: { do: 'hang' } })
  const { body: begun } = await askToMove(id, { cell: south.name })
  await waitFor('the disk to be saved', async () => {
    return (await showServer(admin, id))['OS-EXT-STS:task_state'] === 'shelving'
  })

  const { status } = await admin.post(`${ROOT}/operations/${begun.id}/cancel`)
  expect(status).toBe(200)
  north.computes[0]!.fail()

  expect(await ended(begun.id)).toMatchObject({ state: 'cancelled' })
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  expect(await cellOf(id)).toBe(north.name)
  expect(await guestsOf(south)).not.toContain(id)
  await deleteServer(demo, id)
})

test('a disk that cannot be saved leaves the server where it was', async () => {
  const { id } = await freeServer(north)
  north.computes[0]!.fail({
    method: 'takeChanges',
    effect: { do: 'fail', kind: 'internal', message: 'no disk' },
  })

  const operation = await moved(id, { cell: south.name })

  expect(operation.state).toBe('failed')
  expect(operation.message).toContain('no disk')
  expect(await cellOf(id)).toBe(north.name)
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  await deleteServer(demo, id)
})

test('a server that the other cell cannot build returns to its own', async () => {
  const { id } = await freeServer(north)
  south.computes[0]!.fail({
    method: 'spawn',
    effect: { do: 'fail', kind: 'invalid', message: 'broken' },
  })

  const operation = await moved(id, { cell: south.name })

  expect(operation).toMatchObject({ state: 'failed' })
  expect(operation.message).toBe('Host south-1 could not build it: broken')
  expect(await cellOf(id)).toBe(north.name)
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  await deleteServer(demo, id)
})

test('a server that no cell can build keeps its disk, and is built once one can', async () => {
  const { id } = await freeServer(north, { name: 'patient' })
  for (const host of cloud.hosts)
    host.fail({ method: 'spawn', effect: { do: 'fail', kind: 'invalid', message: 'broken' } })
  const { body: begun } = await askToMove(id, { cell: south.name })
  await waitFor('ERROR', async () => (await showServer(demo, id)).status === 'ERROR')
  expect(await cellOf(id)).toBeNull()
  expect(await saved(id)).toHaveLength(2)
  expect(await shown(begun.id)).toMatchObject({ state: 'running', is_cancellable: false })

  for (const host of cloud.hosts) host.fail()

  expect(await ended(begun.id)).toMatchObject({ state: 'done' })
  expect(await cellOf(id)).toBe(south.name)
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  await deleteServer(demo, id)
}, 90_000)

test('a server that is deleted on its way is gone everywhere', async () => {
  const { id } = await freeServer(north, { name: 'doomed' })
  south.computes[0]!.fail({ method: 'spawn', effect: { do: 'hang' } })
  const { body: begun } = await askToMove(id, { cell: south.name })
  await waitFor('the other cell to have it', async () => (await cellOf(id)) === south.name)

  await demo.delete(`${SERVERS}/${id}`)
  south.computes[0]!.fail()

  expect(await ended(begun.id)).toMatchObject({
    state: 'failed',
    message: 'The server was deleted.',
  })
  await waitFor('no guest is left', async () =>
    [...(await guestsOf(north)), ...(await guestsOf(south))].every((guest) => guest !== id),
  )
  await untilNothingSaved(id)
})

test('a host whose cell has no other is drained into another cell, if that is asked for', async () => {
  const servers = [await freeServer(north), await freeServer(north)]
  const host = await hostOf(north)

  const { body: begun } = await admin.post<Operation>(`${ROOT}/hosts/${host}/drain`, {
    to_other_cells: true,
  })

  const { state, moves } = await ended(begun.id)
  expect(state).toBe('done')
  // No other host of the cell could have taken them, so none was asked.
  expect(moves).toMatchObject(Array(2).fill({ state: 'moved', method: 'cell', tries: 1 }))
  for (const { id } of servers) {
    expect(await cellOf(id)).toBe(south.name)
    expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
    await deleteServer(demo, id)
  }
  await admin.call('PATCH', `${ROOT}/hosts/${host}`, { is_cordoned: false })
})

test('a drain says why a move to another cell failed that had begun', async () => {
  const { id } = await freeServer(north, { name: 'unsaved' })
  const effect = { do: 'fail', kind: 'internal', message: 'no disk' } as const
  north.computes[0]!.fail({ method: 'takeChanges', effect })
  const drain = `${ROOT}/hosts/${await hostOf(north)}/drain`

  const { body: begun } = await admin.post<Operation>(drain, { to_other_cells: true })

  const { message } = await untilOperation(admin, begun.id, (now) => now.message !== null)
  expect(message).toMatch(/^1 server is left\. unsaved waits: .*no disk/)
  north.computes[0]!.fail()
  await admin.post(`${ROOT}/operations/${begun.id}/cancel`)
  await endOfOperation(admin, begun.id)
  await admin.call('PATCH', `${ROOT}/hosts/${await hostOf(north)}`, { is_cordoned: false })
  await deleteServer(demo, id)
})

test('a cell that is drained gives away the servers whose placement policy says so, and waits for the others', async () => {
  const policies = `${ROOT}/placement-policies`
  const { tiny, small } = cloud.catalog
  await admin.post(policies, { name: 'leaving', flavors: [tiny], drains_to_other_cells: true })
  const { id: leaving } = await freeServer(north)
  const { id: staying } = await freeServer(north, { flavorRef: small })
  const command = new WeirCommand(cloud, 'admin')

  const waits = `cell drain ${north.name} --no-move --deadline 1`
  const [waited] = await command.json<readonly Operation[]>(waits)
  const late = await untilOperation(admin, waited!.id, ({ state }) => state !== 'running')
  expect(late).toMatchObject({ state: 'failed', remaining: 2 })
  expect(late.message).toBe('The time was up. 2 servers are left.')
  expect(await cellOf(leaving)).toBe(north.name)

  const [begun] = await command.json<readonly Operation[]>(`cell drain ${north.name}`)
  const { moves = [] } = await untilOperation(
    admin,
    begun!.id,
    (now) => now.moves?.some(({ state }) => state === 'moved') === true,
  )

  expect(moves.find(({ server_id: id }) => id === leaving)).toMatchObject({ method: 'cell' })
  expect(moves.find(({ server_id: id }) => id === staying)).toMatchObject({
    ...{ state: 'waiting', tries: 0 },
    reason: expect.stringContaining('Every other host of its cell is cordoned') as unknown,
  })
  expect(await cellOf(leaving)).toBe(south.name)
  expect(await cellOf(staying)).toBe(north.name)
  await admin.post(`${ROOT}/operations/${begun!.id}/cancel`)
  await command.run(`cell enable ${north.name}`)
  await admin.call('PATCH', `${ROOT}/hosts/${await hostOf(north)}`, { is_cordoned: false })
  await admin.delete(`${policies}/leaving`)
  for (const id of [leaving, staying]) await deleteServer(demo, id)
})
