import type { DomainRef } from '../rpc/domain-ref.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** libvirt's calls about what a domain has in memory. */
export function memoryCalls(session: LibvirtSession, slow: LibvirtSession) {
  const onDomain = (domain: DomainRef) => new XdrWriter().domain(domain)
  return {
    /** Writes the guest's memory to disk and ends it; its next start goes on from there. */
    async save(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await slow.call(PROCEDURES.domainManagedSave, onDomain(domain).uint(0), signal)
    },
    async isSaved(domain: DomainRef, signal: AbortSignal): Promise<boolean> {
      const args = onDomain(domain).uint(0)
      return (await session.call(PROCEDURES.domainHasManagedSave, args, signal)).int() === 1
    },
    /** Forgets memory that was saved: the next start is a boot. */
    async forgetSaved(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.domainManagedSaveRemove, onDomain(domain).uint(0), signal)
    },
    async injectNmi(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.domainInjectNmi, onDomain(domain).uint(0), signal)
    },
  }
}
