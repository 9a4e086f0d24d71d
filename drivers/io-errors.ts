import type { InstanceId } from '#common/ids.ts'

/** Guests that their backend pauses when a disk cannot take what they write, which is then kept and not lost. */
export interface IoErrors {
  /**
   * Afterwards each guest that was paused because a disk had no room runs on, if there is room now. A guest whose user has
   * paused it stays paused. Returns those that run on.
   */
  resume(signal: AbortSignal): Promise<readonly InstanceId[]>
}
