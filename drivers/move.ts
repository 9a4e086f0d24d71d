import type { InstanceId } from '#common/ids.ts'
import type { InstanceSpec } from './driver.ts'

/**
 * Carries instances between hosts that have the same driver. The caller reads an instance's files on one host and
 * writes them on the other, so the hosts need not reach each other. Each method may be repeated.
 */
export interface Move {
  /** Afterwards the guest is off, given `graceMs` to shut down, and what it consists of lies ready to be read. */
  pack(id: InstanceId, graceMs: number, signal: AbortSignal): Promise<void>
  /** Afterwards nothing that was packed is left, and the guest runs if it is to. */
  unpack(id: InstanceId, runs: boolean, signal: AbortSignal): Promise<void>
  /** The files that can be read now; of a guest that is not packed, only those that it cannot change while it runs. */
  files(id: InstanceId, signal: AbortSignal): Promise<readonly MoveFile[]>
  /** Throws `not-found` for a file there is not. */
  read(id: InstanceId, part: FilePart, signal: AbortSignal): Promise<Uint8Array>
  /** Afterwards the bytes wait for the instance to arrive. Offset 0 begins the file again. Throws `invalid` for a name. */
  write(id: InstanceId, at: FileStart, bytes: Uint8Array, signal: AbortSignal): Promise<void>
  /**
   * Afterwards the instance is here with what was written, and the spec's flavor; it runs if it is to. Throws
   * `invalid` for a disk that would shrink, `not-found` when nothing has come; a failure leaves no part of the
   * instance here.
   */
  arrive(spec: InstanceSpec, runs: boolean, signal: AbortSignal): Promise<void>
  /**
   * Afterwards the instance, whose former host is dead, is here: with its disks where this host sees them, too,
   * else again from its image. It runs if it is to. Throws `conflict` where a guest there may still have its disks or
   * volumes.
   */
  evacuate(spec: InstanceSpec, how: Evacuation, signal: AbortSignal): Promise<void>
}

export interface Evacuation {
  readonly runs: boolean
  /** True: the former host was powered off, and nothing of before runs on it; absent: it does not answer. */
  readonly sourceIsOff?: true | undefined
}

export interface MoveFile {
  readonly name: string
  readonly sizeBytes: number
}

export interface FileStart {
  readonly name: string
  readonly offset: number
}

export interface FilePart extends FileStart {
  readonly maxBytes: number
}

/** Carries guests between hosts while they run. Only their driver reads the information that the hosts exchange. */
export interface LiveMove {
  /** The information that the destination needs of the guest. Throws `conflict` when the guest is not running. */
  announce(id: InstanceId, signal: AbortSignal): Promise<string>
  /** Afterwards this host can receive the guest that was announced; returns the information that the source needs. */
  expect(spec: InstanceSpec, announced: string, signal: AbortSignal): Promise<string>
  /** Afterwards the guest runs on the host that expects it. Throws `conflict` when it was called off: it runs on here. */
  send(id: InstanceId, expected: string, signal: AbortSignal): Promise<void>
  /** Afterwards the guest that has come runs here as if it always had; one that was paused is paused. */
  finish(spec: InstanceSpec, runs: boolean, signal: AbortSignal): Promise<void>
  /** `abort`: afterwards `send` ends without having moved it; `complete`: it ends soon, and the guest may stand still. */
  end(id: InstanceId, how: MoveEnd, signal: AbortSignal): Promise<void>
  /** How far `send` has come. Throws `conflict` when it is not under way. */
  progress(id: InstanceId, signal: AbortSignal): Promise<MoveProgress>
}

/** In bytes; null where the hypervisor does not say. Disks are none where both hosts see them. */
export interface MoveProgress {
  readonly memory: CarriedBytes | null
  readonly disks: CarriedBytes | null
}

export interface CarriedBytes {
  readonly total: number
  readonly processed: number
  /** Memory that the guest has changed since is to be carried again. */
  readonly remaining: number
}

const MOVE_ENDS = ['abort', 'complete'] as const
export type MoveEnd = (typeof MOVE_ENDS)[number]
