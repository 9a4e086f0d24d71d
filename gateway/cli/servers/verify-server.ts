import { endOfFindings, FINDINGS } from '../findings.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { findServer } from './find-server.ts'

export interface VerifyOptions extends ViewOptions {
  readonly fix?: true
  readonly dryRun?: true
}

/** Shows whether all records of a server agree; fails where they do not. With `fix` the index is corrected first. */
export async function verifyServer(
  operator: Operator,
  wanted: string,
  options: VerifyOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const path = { server: await findServer(session, wanted) }
    const how = options.fix === true && options.dryRun !== true ? 'post' : 'get'
    const answer = await session.federation.ask(how, '/v1/servers/{server}/verification', { path })
    endOfFindings(operator, answer.findings)
    return { ...listView(answer.findings, FINDINGS), data: answer }
  })
}
