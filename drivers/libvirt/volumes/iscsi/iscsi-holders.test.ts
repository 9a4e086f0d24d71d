import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AttachmentId, type HostId, newId, type VolumeId } from '#common/ids.ts'
import {
  closeForGood,
  expect as expectGuest,
  type HolderAt,
  hold,
  refuseHeld,
  refuseHeldElsewhere,
  release,
} from './iscsi-holders.ts'
import { IscsiSession } from './iscsi-session.ts'
import { HOLDER_AT, newLabel } from './lun-label.ts'
import { isLabelled, readLuns, relabel } from './luns.ts'
import { type MemoryTarget, startMemoryTarget } from './testing.ts'

const NAME = 'iqn.2026-01.org.example:storage'
const id = newId<VolumeId>()
const [mine, others] = [newId<AttachmentId>(), newId<AttachmentId>()].map((attachmentId) => ({
  id,
  attachmentId,
})) as [{ id: VolumeId; attachmentId: AttachmentId }, { id: VolumeId; attachmentId: AttachmentId }]

describe.each([
  ['that compares and writes in one step', true],
  ['that is reserved meanwhile', false],
])('on a target %s', (_, compares) => {
  let target: MemoryTarget
  let open: AsyncDisposableStack
  beforeEach(async () => {
    open = new AsyncDisposableStack()
    target = open.use(
      await startMemoryTarget({ name: NAME, luns: { 1: Buffer.alloc(3 * 1024 ** 2) }, compares }),
    )
  })
  afterEach(() => open.disposeAsync())

  async function session(): Promise<IscsiSession> {
    const portal = { host: '127.0.0.1', port: target.port }
    const login = { portal, target: NAME, initiator: 'iqn.2026-01.org.example:host' }
    return open.use(await IscsiSession.open(login, AbortSignal.timeout(20_000)))
  }

  /** The LUN as a host of its own reaches it. */
  async function fromHost(): Promise<HolderAt> {
    const own = await session()
    const [lun] = await readLuns(own)
    if (lun?.label === 'blank') await relabel(own, lun, newLabel('store'))
    const labelled = (await readLuns(own)).find(isLabelled)!
    return { session: own, lun: labelled, hostId: newId<HostId>() }
  }

  const conflict = { kind: 'conflict', message: expect.stringContaining(id) }

  test('of hosts that want the volume at once one has it, and only it lets it go', async () => {
    const hosts = [await fromHost(), await fromHost(), await fromHost()]

    const held = await Promise.allSettled(
      hosts.map((host) => hold(host, { id, attachmentId: newId<AttachmentId>() })),
    )

    expect(held.map(({ status }) => status).toSorted()).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
    ])
    for (const host of hosts) {
      await release(host, others)
      await expect(refuseHeld(host, id)).rejects.toMatchObject(conflict)
    }
  })

  test('a repeat changes nothing, and what was let go is free for others', async () => {
    const [here, there] = [await fromHost(), await fromHost()]
    for (const _ of [1, 2]) await hold(here, mine)
    await expect(hold(there, others)).rejects.toMatchObject(conflict)
    await release(there, mine)
    await expect(hold(there, others)).rejects.toMatchObject(conflict)

    for (const _ of [1, 2]) await release(here, mine)

    await hold(there, others)
  })

  test('a guest takes the volume along only when it moves, and its former host does not get it back', async () => {
    const [here, there] = [await fromHost(), await fromHost()]
    await hold(here, mine)
    await expect(hold(there, mine)).rejects.toMatchObject(conflict)
    await expect(hold(there, others, true)).rejects.toMatchObject(conflict)

    await hold(there, mine, true)

    await expect(hold(here, mine)).rejects.toMatchObject(conflict)
    await release(here, mine)
    await expect(hold(here, others)).rejects.toMatchObject(conflict)
    await expect(refuseHeldElsewhere(here, id)).rejects.toMatchObject(conflict)
    await refuseHeldElsewhere(there, id)
  })

  test('a guest that moves while it runs has the volume on both hosts, and on the one that it is on in the end', async () => {
    const [here, there, third] = [await fromHost(), await fromHost(), await fromHost()]
    await hold(here, mine)
    await expect(expectGuest(there, others)).rejects.toMatchObject(conflict)
    const isOn = async (host: HolderAt) => {
      await refuseHeldElsewhere(host, id)
      for (const other of [here, there, third].filter((each) => each !== host)) {
        await expect(refuseHeldElsewhere(other, id)).rejects.toMatchObject(conflict)
        await expect(hold(other, mine)).rejects.toMatchObject(conflict)
      }
    }

    // It does not go, and goes at the next try; the other host is not told whether it has come.
    for (const _ of [1, 2]) await expectGuest(there, mine)
    for (const host of [here, there])
      await expect(refuseHeldElsewhere(host, id)).rejects.toMatchObject(conflict)
    await release(there, mine)
    await isOn(here)
    await expectGuest(there, mine)
    await release(third, mine)
    await release(here, mine)
    await isOn(there)

    // It goes on, and that host is told before the former one is without it.
    await expectGuest(third, mine)
    await hold(third, mine, true)
    await release(there, mine)
    await isOn(third)
  })

  test('a volume that is removed is given to nobody any more, and one that a guest has is not removed', async () => {
    const [here, there] = [await fromHost(), await fromHost()]
    await hold(here, mine)
    await expect(closeForGood(there, id)).rejects.toMatchObject(conflict)
    await release(here, mine)

    for (const host of [there, here, there]) await closeForGood(host, id)

    await expect(hold(here, mine)).rejects.toMatchObject(conflict)
    await expect(hold(here, mine, true)).rejects.toMatchObject(conflict)
  })

  test('a host that dies while it alone could reach the LUN stops nobody else', async () => {
    const [here, there] = [await fromHost(), await fromHost()]
    const reserve = Buffer.from([0x16, 0, 0, 0, 0, 0])
    await here.session.do({ lun: here.lun.number, cdb: reserve })
    setTimeout(() => here.session[Symbol.dispose](), 200)

    await hold(there, mine)
  })

  test('a LUN whose label has changed meanwhile is not held, and an unreadable holder is not taken for none', async () => {
    const [here, there] = [await fromHost(), await fromHost()]
    await relabel(there.session, there.lun, newLabel('another'))
    await expect(hold(here, mine)).rejects.toMatchObject({ kind: 'unavailable' })

    target.luns.get(1)!.write('what is this', HOLDER_AT)
    await expect(refuseHeld(here, id)).rejects.toThrow('cannot be read')
  })
})
