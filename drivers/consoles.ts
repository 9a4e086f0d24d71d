import type { Duplex } from 'node:stream'
import type { InstanceId } from '#common/ids.ts'

export interface ConsoleLog {
  /** The newest `maxBytes` of what the guest wrote on its serial console; empty when it wrote nothing yet. */
  read(id: InstanceId, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>
}

export const CONSOLE_KINDS = ['serial', 'vnc'] as const
export type ConsoleKind = (typeof CONSOLE_KINDS)[number]

export interface Console {
  /**
   * The guest's console as bytes both ways: written bytes are typed, read bytes are the output. It ends when the
   * guest goes off; destroying it hangs up. A client that opens an open console takes it over. Throws `conflict` when
   * the guest is off, `unsupported` when it has no such console.
   */
  open(id: InstanceId, kind: ConsoleKind, signal: AbortSignal): Promise<Duplex>
}

/** Of backends whose guests do not all have every console; of others a console of any kind is promised without a look. */
export interface ConsoleKinds {
  /** Whether the guest has a console of the kind. May throw `conflict` while the guest is off. */
  has(id: InstanceId, kind: ConsoleKind, signal: AbortSignal): Promise<boolean>
}
