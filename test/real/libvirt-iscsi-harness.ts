import { randomUUID } from 'node:crypto'
import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CellId, HostId, VolumeId } from '#common/ids.ts'
import type { Owner } from '#drivers/driver.ts'
import { CONTENT_AT, type LunLabel, parseLabel } from '#drivers/libvirt/volumes/iscsi/lun-label.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import type { IscsiTarget } from '#test/env/iscsi/target.ts'
import { reachFrom } from '#test/env/reach-from.ts'
import type { LibvirtHarness } from './libvirt-harness.ts'
import type { StoreDisks } from './store-move-cloud.ts'

/** A host's settings for the storage pool, which has this name on every host. */
export const ISCSI_POOL = { volumePools: ['luns'] }
const LABEL_BYTES = 512
/** The same on every host, as a guest's disk names it wherever the guest goes. */
const SECRET = randomUUID()

/** Afterwards the host reaches the target and has its pool, as an operator would define it, with this name for itself. */
export async function giveIscsiPool(
  harness: LibvirtHarness,
  target: IscsiTarget,
  initiator: string,
): Promise<AsyncDisposable> {
  const { directory, port, name, login } = target
  const reached = await reachFrom(harness.host, { directory, ports: [port] })
  const file = join(harness.directory, 'define.xml')
  if (login !== undefined) {
    await writeFile(
      file,
      `<secret ephemeral='no' private='no'><uuid>${SECRET}</uuid><usage type='iscsi'><target>weir</target></usage></secret>`,
    )
    await harness.virsh('secret-define', file)
    const password = Buffer.from(login.password).toString('base64')
    await harness.virsh('secret-set-value', SECRET, '--base64', password)
  }
  const auth =
    login && `<auth type='chap' username='${login.user}'><secret uuid='${SECRET}'/></auth>`
  await writeFile(
    file,
    `<pool type='iscsi-direct'><name>luns</name><source><host name='127.0.0.1' port='${port}'/><device path='${name}'/>
      ${auth ?? ''}<initiator><iqn name='${initiator}'/></initiator></source></pool>`,
  )
  await harness.virsh('pool-define', file)
  return reached
}

/** What tests do with the LUNs, past every driver. */
export function lunContent({ luns }: IscsiTarget, { cellId, hostId }: Owner) {
  const labelOf = async (path: string) => {
    const file = await open(path)
    try {
      const { buffer } = await file.read(Buffer.alloc(LABEL_BYTES), 0, LABEL_BYTES, 0)
      return parseLabel(buffer)
    } finally {
      await file.close()
    }
  }
  const labels = () => Promise.all(luns.map(async (path) => ({ path, label: await labelOf(path) })))
  const lunOf = async (id: VolumeId) => {
    const found = (await labels()).find(({ label }) => label?.use?.volume === id)
    if (found?.label?.use === undefined) throw new Error(`no LUN has volume ${id}`)
    return { path: found.path, use: found.label.use }
  }
  const put = async (path: string, at: number, bytes: Buffer) => {
    const file = await open(path, 'r+')
    await file.write(bytes, 0, bytes.length, at)
    await file.close()
  }
  return {
    labels,
    lunOf,
    put,
    read: async ({ id }: VolumeRef): Promise<Buffer> => {
      const { path, use } = await lunOf(id)
      return (await readFile(path)).subarray(CONTENT_AT, CONTENT_AT + use.bytes)
    },
    write: async ({ id }: VolumeRef, start: string): Promise<void> =>
      put((await lunOf(id)).path, CONTENT_AT, Buffer.from(start)),
    leaveHalf: async ({ store, id }: VolumeRef): Promise<void> => {
      const free = (await labels()).find(({ label }) => label?.use === undefined)!
      const use = { cell: cellId, volume: id, bytes: 512, state: 'making', by: hostId } as const
      const label: LunLabel = { weir: 1, store, wiped: 0, use }
      await put(free.path, 0, Buffer.from(`${JSON.stringify(label)}\n`))
      await put(free.path, CONTENT_AT, Buffer.from('half'))
    },
    leftovers: async (id: VolumeId): Promise<readonly string[]> => {
      const found = (await labels()).filter(({ label }) => JSON.stringify(label)?.includes(id))
      return found.map(({ path }) => path)
    },
  }
}

/** What a cell has on the LUNs. */
export function lunDisks(target: IscsiTarget, cellId: CellId): StoreDisks {
  const { labels, lunOf } = lunContent(target, { cellId, hostId: '' as HostId })
  return {
    async names() {
      const uses = (await labels()).flatMap(({ label }) => label?.use ?? [])
      return uses.filter(({ cell }) => cell === cellId).map(({ volume }) => volume)
    },
    async diskOf({ volume }) {
      const { path, use } = await lunOf(volume as VolumeId)
      return partOf(path, CONTENT_AT, use.bytes)
    },
  }
}

/** A part of a file as a raw disk of QEMU's programs. */
export function partOf(path: string, offset: number, size: number): string {
  const file = { driver: 'file', filename: path }
  return `json:${JSON.stringify({ driver: 'raw', offset, size, file })}`
}
