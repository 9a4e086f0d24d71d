import { PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** virDomainModificationImpact. */
const IMPACTS = { guest: 1, definition: 2 } as const
type Place = keyof typeof IMPACTS
/** virDomainXMLFlags. */
const XML_INACTIVE = 2
/** virDomainBlockResizeFlags: the size is not in KiB. */
const IN_BYTES = 1
/** virDomainDiskErrorCode. */
const NO_SPACE = 2
/** remote_protocol.x REMOTE_DOMAIN_DISK_ERRORS_MAX. */
const ERRORS_MAX = 256

/** What QEMU has met at a disk of a guest. */
export interface DiskError {
  readonly target: string
  readonly isNoSpace: boolean
}

/** libvirt's calls about one disk of a domain, typed. */
export function diskCalls(session: LibvirtSession, slow: LibvirtSession) {
  const onDomain = (domain: DomainRef) => new XdrWriter().domain(domain)
  return {
    /** The domain as it is at its next start. */
    async definition(domain: DomainRef, signal: AbortSignal): Promise<string> {
      const args = onDomain(domain).uint(XML_INACTIVE)
      return (await session.call(PROCEDURES.domainGetXmlDesc, args, signal)).text()
    },
    async attach(domain: DomainRef, xml: string, to: Place, signal: AbortSignal): Promise<void> {
      const args = onDomain(domain).text(xml).uint(IMPACTS[to])
      await slow.call(PROCEDURES.domainAttachDeviceFlags, args, signal)
    },
    /** Afterwards the definition has the disk of this name as `xml` describes it. */
    async redefine(domain: DomainRef, xml: string, signal: AbortSignal): Promise<void> {
      const args = onDomain(domain).text(xml).uint(IMPACTS.definition)
      await slow.call(PROCEDURES.domainUpdateDeviceFlags, args, signal)
    },
    /** Returns before a guest has released the disk with the alias. */
    async detach(
      domain: DomainRef,
      alias: string,
      from: Place,
      signal: AbortSignal,
    ): Promise<void> {
      const args = onDomain(domain).text(alias).uint(IMPACTS[from])
      await slow.call(PROCEDURES.domainDetachDeviceAlias, args, signal)
    },
    /** The size in bytes of a disk of a guest that runs, as the guest sees it. */
    async size(domain: DomainRef, target: string, signal: AbortSignal): Promise<number> {
      const args = onDomain(domain).text(target).uint(0)
      const answer = await session.call(PROCEDURES.domainGetBlockInfo, args, signal)
      // Its allocation comes first.
      answer.ulong()
      return answer.ulong()
    },
    /** The disks of a guest that runs or is paused at which an error has occurred since it last went on. */
    async errors(domain: DomainRef, signal: AbortSignal): Promise<readonly DiskError[]> {
      const args = onDomain(domain).uint(ERRORS_MAX).uint(0)
      const answer = await session.call(PROCEDURES.domainGetDiskErrors, args, signal)
      return answer.list((reader) => ({
        target: reader.text(),
        isNoSpace: reader.int() === NO_SPACE,
      }))
    },
    /** Afterwards disk and volume have this size, also if they were larger. */
    async resize(
      domain: DomainRef,
      target: string,
      bytes: number,
      signal: AbortSignal,
    ): Promise<void> {
      const args = onDomain(domain).text(target).ulong(bytes).uint(IN_BYTES)
      await slow.call(PROCEDURES.domainBlockResize, args, signal)
    },
  }
}
export type DiskCalls = ReturnType<typeof diskCalls>
