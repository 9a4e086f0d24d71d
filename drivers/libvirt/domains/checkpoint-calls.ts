import { isFailure } from '#common/errors.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'
import { element, renderXml } from '../xml/element.ts'

/** virDomainCheckpointCreateFlags: the bitmap is there. */
const CREATE_REDEFINE = 1
/** virDomainCheckpointDeleteFlags: the bitmap stays. */
const DELETE_METADATA_ONLY = 2

/**
 * libvirt's own records of bitmaps, without which it copies nothing by them. They are kept for no longer than a copy takes to
 * begin: libvirt moves no domain that has one.
 */
export function checkpointCalls(session: LibvirtSession) {
  return {
    /** Afterwards libvirt knows the bitmap of the disk as a checkpoint of the same name. */
    async define(
      domain: DomainRef,
      disk: string,
      bitmap: string,
      signal: AbortSignal,
    ): Promise<void> {
      const xml = renderXml(
        element(
          'domaincheckpoint',
          {},
          element('name', {}, bitmap),
          // libvirt demands a time here, and never uses it.
          element('creationTime', {}, '1'),
          element('disks', {}, element('disk', { name: disk, checkpoint: 'bitmap', bitmap })),
        ),
      )
      const args = new XdrWriter().domain(domain).text(xml).uint(CREATE_REDEFINE)
      await session.call(PROCEDURES.domainCheckpointCreateXml, args, signal)
    },
    /** Afterwards libvirt does not know it any more; the bitmap stays. */
    async forget(domain: DomainRef, bitmap: string, signal: AbortSignal): Promise<void> {
      const args = new XdrWriter().text(bitmap).domain(domain).uint(DELETE_METADATA_ONLY)
      try {
        await session.call(PROCEDURES.domainCheckpointDelete, args, signal)
      } catch (error) {
        if (!isFailure(error, 'not-found')) throw error
      }
    },
  }
}
