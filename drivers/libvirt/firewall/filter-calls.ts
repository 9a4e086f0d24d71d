import { isFailure } from '#common/errors.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** libvirt's calls about network filters, typed. A filter is known by its name. */
export function filterCalls(session: LibvirtSession) {
  const find = async (name: string, signal: AbortSignal) => {
    const args = new XdrWriter().text(name)
    try {
      return (await session.call(PROCEDURES.nwfilterLookupByName, args, signal)).network()
    } catch (error) {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    }
  }
  return {
    async exists(name: string, signal: AbortSignal): Promise<boolean> {
      return (await find(name, signal)) !== undefined
    },
    /** Afterwards the filter is as given, also for guests that run behind it. */
    async define(xml: string, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.nwfilterDefineXml, new XdrWriter().text(xml), signal)
    },
    /** Afterwards there is no such filter, unless a guest uses it. */
    async undefine(name: string, signal: AbortSignal): Promise<void> {
      const filter = await find(name, signal)
      if (filter === undefined) return
      const args = new XdrWriter().network(filter)
      await session.call(PROCEDURES.nwfilterUndefine, args, signal).catch((error: unknown) => {
        if (!isFailure(error, 'conflict', 'not-found')) throw error
      })
    },
  }
}
export type FilterCalls = ReturnType<typeof filterCalls>
