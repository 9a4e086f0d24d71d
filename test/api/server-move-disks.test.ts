import { isDeepStrictEqual } from 'node:util'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { images } from '#gateway/db/schema/image.ts'
import { deleteServer, SERVERS, showServer } from '#test/env/api/servers.ts'
import type { CloudCell } from '#test/env/cloud.ts'
import {
  admin,
  askToMove,
  cellOf,
  db,
  demo,
  ended,
  freeServer,
  guestsOf,
  imagesNamed,
  imageUsage,
  moved,
  type Named,
  north,
  ROOT,
  shown,
  south,
  untilNothingSaved,
  useTwoCells,
  waitFor,
} from './cell-moves.ts'

// Goal: a server that changes cells has its volumes along, and its disk is copied while it runs where its hosts can.

useTwoCells()

test('a server has its volumes along, and a volume that cannot go has it stay', async () => {
  const charged = await imageUsage()
  const { id } = await freeServer(north)
  const attachments = `${SERVERS}/${id}/os-volume_attachments`
  const where = { size: 1, availability_zone: north.name }
  const { body } = await demo.post<{ volume: Named }>('/volume/v3/volumes', { volume: where })
  const volume = `/volume/v3/volumes/${body.volume.id}`
  const shownVolume = async () => (await demo.get<{ volume: object }>(volume)).body.volume
  await waitFor('the volume', async () => (await demo.get(volume)).status === 200)
  const attach = () => demo.post(attachments, { volumeAttachment: { volumeId: body.volume.id } })
  await waitFor('it to be attached', async () => (await attach()).status === 200)
  const before = (await demo.get(attachments)).body
  south.computes[0]!.fail({
    method: 'createVolume',
    effect: { do: 'fail', kind: 'unsupported', message: 'broken' },
  })

  const refused = await moved(id, { cell: south.name })

  expect(refused.state).toBe('failed')
  expect(refused.message).toContain(`Volume ${body.volume.id} did not move.`)
  expect(await cellOf(id)).toBe(north.name)
  expect(await shownVolume()).toMatchObject({ status: 'in-use', availability_zone: north.name })
  south.computes[0]!.fail()

  expect(await moved(id, { cell: south.name })).toMatchObject({
    state: 'done',
    message: expect.stringContaining('in two passes'),
  })

  expect(await cellOf(id)).toBe(south.name)
  expect(await shownVolume()).toMatchObject({ status: 'in-use', availability_zone: south.name })
  expect((await demo.get(attachments)).body).toEqual(before)
  await deleteServer(demo, id)
  await demo.delete(volume)
  // The images by which volumes move count in quotas.
  await waitFor('their images to go', async () => isDeepStrictEqual(await imageUsage(), charged))
})

test('a server runs until its disk is copied to an image that no list or quota shows, and goes on running after a cancel', async () => {
  const { id } = await freeServer(north, { name: 'copied' })
  const host = north.computes[0]!
  const charged = await imageUsage()
  south.computes[0]!.fail({ method: 'fetchImage', effect: { do: 'hang' } })
  const { body: begun } = await askToMove(id, { cell: south.name })
  await waitFor('the other host to fetch', async () =>
    (await shown(begun.id)).message?.startsWith('A host of the other cell fetches'),
  )

  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  const [copy] = await db.orm.select().from(images).where(eq(images.snapshotOf, id))
  expect(copy).toMatchObject({ name: 'copied-moving', status: 'active' })
  for (const by of [demo, admin]) {
    expect(await imagesNamed(by, 'copied-moving')).toEqual([])
    const path = `/image/v2/images/${copy!.id}`
    for (const { status } of [await by.get(path), await by.delete(path)]) expect(status).toBe(404)
  }
  expect(await imageUsage()).toEqual(charged)
  host.fail({ method: 'forgetChanges', effect: { do: 'hang' } })
  expect((await admin.post(`${ROOT}/operations/${begun.id}/cancel`)).status).toBe(200)
  await waitFor('the host to forget', async () =>
    (await shown(begun.id)).message?.startsWith('It stays where it is'),
  )
  expect((await shown(begun.id)).state).toBe('running')
  host.fail()

  expect(await ended(begun.id)).toMatchObject({ state: 'cancelled', message: null })
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  expect(await guestsOf(south)).not.toContain(id)
  await untilNothingSaved(id)
  await deleteServer(demo, id)
})

test('a copy or changes that a host cannot make, or that no other fetches, cost the server no more than time', async () => {
  const { id } = await freeServer(north)
  const onePass = /^Its disk was saved in one pass/
  const fault = { do: 'fail', kind: 'conflict', message: 'lost' } as const
  const there = [north, south]
  for (const [method, message] of [
    ['beginChanges', onePass],
    ['takeChanges', onePass],
    ['fetchImage', /^Its disk was saved in two passes/],
  ] as const) {
    const [from, to] = there as [CloudCell, CloudCell]
    for (const { computes } of there) computes[0]!.fail({ method, effect: fault })

    const operation = await moved(id, { cell: to.name })

    expect(operation).toMatchObject({ state: 'done', message: expect.stringMatching(message) })
    expect(await cellOf(id)).toBe(to.name)
    expect(await guestsOf(from)).not.toContain(id)
    await untilNothingSaved(id)
    there.reverse()
  }
  await deleteServer(demo, id)
})
