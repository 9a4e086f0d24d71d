import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { HOST_PAYLOAD_MAX } from '#openapi/wire/host.ts'
import type { Compute } from '../compute.ts'

/** With room for what frames it in the answer. */
const OUTPUT_BYTES_MAX = HOST_PAYLOAD_MAX - 1_024

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
  return { output: newestWithin(Buffer.from(bytes).toString('latin1'), OUTPUT_BYTES_MAX) }
}

/** The end of the text, which as JSON has at most so many bytes: control characters take six each. */
function newestWithin(text: string, maxBytes: number): string {
  let kept = text
  for (let bytes = jsonBytes(kept); bytes > maxBytes; bytes = jsonBytes(kept)) {
    const share = Math.floor((kept.length * maxBytes) / bytes)
    kept = kept.slice(kept.length - Math.min(share, kept.length - 1))
  }
  return kept
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}
