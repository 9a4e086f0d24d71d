import { Failure } from '#common/errors.ts'
import { QEMU_PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

interface Reply {
  readonly return?: unknown
  readonly error?: { readonly desc: string }
}

/** A node of a guest's disks (QEMU: qapi/block-core.json, BlockDeviceInfo). */
interface BlockNode {
  readonly drv: string
  readonly file: string
  readonly 'node-name': string
  readonly 'dirty-bitmaps'?: readonly {
    readonly name?: string
    readonly recording: boolean
    readonly inconsistent?: boolean
  }[]
}

/** A disk of a guest that runs, as its QEMU knows it. */
export interface DiskNode {
  readonly name: string
  /** Names of the bitmaps that note what is written. */
  readonly bitmaps: readonly string[]
  /** Of these, those that note all that is written since they were added: not what a QEMU that was killed has left. */
  readonly usableBitmaps: readonly string[]
}

/** Calls to the QEMU of a guest that runs, for which libvirt has none of its own. Each throws `internal` with QEMU's refusal. */
export function monitorCalls(session: LibvirtSession) {
  async function execute(
    domain: DomainRef,
    command: string,
    given: object,
    signal: AbortSignal,
  ): Promise<unknown> {
    const text = JSON.stringify({ execute: command, arguments: given })
    const args = new XdrWriter().domain(domain).text(text).uint(0)
    const answer = await session.callQemu(QEMU_PROCEDURES.domainMonitorCommand, args, signal)
    const reply = JSON.parse(answer.text()) as Reply
    if (reply.error === undefined) return reply.return
    throw new Failure('internal', 'The hypervisor refused a change of a disk.', {
      detail: `${command}: ${reply.error.desc}`,
    })
  }

  return {
    /** The disk whose qcow2 file this is; undefined: the guest has none. A copy under way has nodes of its own above it. */
    async diskOf(
      domain: DomainRef,
      path: string,
      signal: AbortSignal,
    ): Promise<DiskNode | undefined> {
      const all = await execute(domain, 'query-named-block-nodes', { flat: true }, signal)
      const found = (all as readonly BlockNode[]).find(
        ({ drv, file }) => drv === 'qcow2' && file === path,
      )
      if (found === undefined) return undefined
      const bitmaps = found['dirty-bitmaps'] ?? []
      const usable = bitmaps.filter((each) => each.recording && each.inconsistent !== true)
      return {
        name: found['node-name'],
        bitmaps: bitmaps.flatMap(({ name }) => name ?? []),
        usableBitmaps: usable.flatMap(({ name }) => name ?? []),
      }
    },
    /** Afterwards QEMU notes what is written, also over stops and starts of the guest. */
    async addBitmap(
      domain: DomainRef,
      node: string,
      name: string,
      signal: AbortSignal,
    ): Promise<void> {
      await execute(domain, 'block-dirty-bitmap-add', { node, name, persistent: true }, signal)
    },
    async removeBitmap(
      domain: DomainRef,
      node: string,
      name: string,
      signal: AbortSignal,
    ): Promise<void> {
      await execute(domain, 'block-dirty-bitmap-remove', { node, name }, signal)
    },
  }
}
