import { isFailure } from '#common/errors.ts'
import type { Operator } from '../operator.ts'
import type { CloudOptions } from './cloud-config.ts'
import { openSession, type Session } from './session.ts'

/** Does something in a session that outlasts its token: a new one is opened when the old one is refused. */
export type KeptSession = <Result>(work: (session: Session) => Promise<Result>) => Promise<Result>

export async function keepSession(operator: Operator, options: CloudOptions): Promise<KeptSession> {
  let session = await openSession(operator, options)
  return async (work) => {
    try {
      return await work(session)
    } catch (error) {
      if (!isFailure(error, 'unauthenticated')) throw error
      session = await openSession(operator, options)
      return work(session)
    }
  }
}
