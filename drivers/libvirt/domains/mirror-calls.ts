import { PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'
import { attributeAt, elementsAt, parseXml } from '../xml/parse.ts'

/** virDomainBlockCopyFlags: the file is there; the job is one of a guest that libvirt starts from its definition. */
const COPY_REUSE_EXTERNAL = 2
const COPY_TRANSIENT_JOB = 4
/** A write of the guest has ended once it is in both files, so that a guest that writes much does not stay ahead of the copy. */
const COPY_SYNCHRONOUS_WRITES = 8
/** virDomainBlockJobAbortFlags: the guest has the second file from then on. */
const ABORT_PIVOT = 2

/** How far QEMU is with a second file for a disk: `ready` once both are the same, and stay so. */
export type Mirror = 'none' | 'begun' | 'ready'

/** Of the disk with this name in the domain. */
interface SecondFile {
  readonly target: string
  readonly xml: string
  readonly isThere: boolean
  readonly isSynchronous?: boolean
}

/** libvirt's calls about second files that QEMU writes for a disk while the guest runs. */
export function mirrorCalls(session: LibvirtSession, slow: LibvirtSession) {
  return {
    /** `xml` describes the file. `isSynchronous`: once both are the same, a write of the guest ends when both have it. */
    async begin(domain: DomainRef, disk: SecondFile, signal: AbortSignal): Promise<void> {
      const flags =
        COPY_TRANSIENT_JOB |
        (disk.isThere ? COPY_REUSE_EXTERNAL : 0) |
        (disk.isSynchronous === true ? COPY_SYNCHRONOUS_WRITES : 0)
      const args = new XdrWriter().domain(domain).text(disk.target).text(disk.xml)
      await slow.call(PROCEDURES.domainBlockCopy, args.textParameters({}).uint(flags), signal)
    },
    async state(domain: DomainRef, target: string, signal: AbortSignal): Promise<Mirror> {
      const args = new XdrWriter().domain(domain).uint(0)
      const xml = (await session.call(PROCEDURES.domainGetXmlDesc, args, signal)).text()
      const disk = elementsAt(parseXml(xml), 'domain', 'devices', 'disk').find(
        (each) => attributeAt(each, 'dev', 'target') === target,
      )
      const [mirror] = disk === undefined ? [] : elementsAt(disk, 'mirror')
      if (mirror === undefined) return 'none'
      return mirror['@ready'] === 'yes' ? 'ready' : 'begun'
    },
    /** Afterwards the guest writes to the disk alone; a file that was ready has what the disk had at the end. */
    async end(domain: DomainRef, target: string, signal: AbortSignal): Promise<void> {
      const args = new XdrWriter().domain(domain).text(target).uint(0)
      await slow.call(PROCEDURES.domainBlockJobAbort, args, signal)
    },
    /** Afterwards the guest has the second file, which was ready, and the first one no more. */
    async pivot(domain: DomainRef, target: string, signal: AbortSignal): Promise<void> {
      const args = new XdrWriter().domain(domain).text(target).uint(ABORT_PIVOT)
      await slow.call(PROCEDURES.domainBlockJobAbort, args, signal)
    },
  }
}
