import { isFailure } from '#common/errors.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** virDomainBackupBeginFlags: the files are there. */
const BACKUP_REUSE_EXTERNAL = 1
/** virDomainGetJobStatsFlags: the job that ended last. */
const JOB_STATS_COMPLETED = 1

/** libvirt's calls about the job of a domain, and about copies of its disks that QEMU makes while the guest runs. */
export function backupCalls(session: LibvirtSession, slow: LibvirtSession) {
  async function jobState(domain: DomainRef, ended: boolean, signal: AbortSignal) {
    const args = new XdrWriter().domain(domain).uint(ended ? JOB_STATS_COMPLETED : 0)
    return (await session.call(PROCEDURES.domainGetJobStats, args, signal)).int()
  }

  return {
    /** Begins to copy disks as they are now; the caller polls for the end of the job. */
    async begin(
      domain: DomainRef,
      { xml, isThere }: { readonly xml: string; readonly isThere: boolean },
      signal: AbortSignal,
    ): Promise<void> {
      const flags = isThere ? BACKUP_REUSE_EXTERNAL : 0
      const args = new XdrWriter().domain(domain).text(xml).optionalText(null).uint(flags)
      await slow.call(PROCEDURES.domainBackupBegin, args, signal)
    },
    /** virDomainJobType of the job under way, or of the last that ended when `ended`. */
    jobState,
    /**
     * True for a guest whose daemon was killed as it began a copy: it has written down that there is a job, and not which. Until
     * the guest is started again, it begins no other copy or migration, cannot end that one, and answers a question about it with
     * an internal error.
     */
    async hasLostJob(domain: DomainRef, signal: AbortSignal): Promise<boolean> {
      try {
        await jobState(domain, false, signal)
        return false
      } catch (error) {
        if (isFailure(error, 'internal')) return true
        throw error
      }
    },
    /** The figures of the running job, by libvirt's names; empty when there is none. */
    async jobFigures(
      domain: DomainRef,
      signal: AbortSignal,
    ): Promise<ReadonlyMap<string, number | string>> {
      const args = new XdrWriter().domain(domain).uint(0)
      const answer = await session.call(PROCEDURES.domainGetJobStats, args, signal)
      answer.int()
      return answer.parameters()
    },
    async abort(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.domainAbortJob, new XdrWriter().domain(domain), signal)
    },
  }
}
