import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Compute } from '../compute.ts'

const TIMEOUT_MS = 10_000

/** The newest part of what the guest wrote on its serial console, as Latin-1 text. */
export async function consoleLog(
  { driver }: Compute,
  ask: { readonly serverId: string; readonly maxBytes: number },
): Promise<{ output: string }> {
  if (driver.consoleLog === undefined)
    throw new Failure('unsupported', `Servers on driver '${driver.name}' have no console log.`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const bytes = await driver.consoleLog.read(ask.serverId as InstanceId, ask.maxBytes, signal)
  return { output: Buffer.from(bytes).toString('latin1') }
}
