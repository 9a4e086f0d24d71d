import type { ActionEvent } from '#openapi/wire/feed.ts'

/** Names of events as Nova's computes give them, which clients know. */
export const ACTION_EVENTS = {
  build: 'compute__do_build_and_run_instance',
  delete: 'compute_terminate_instance',
  start: 'compute_start_instance',
  stop: 'compute_stop_instance',
  'reboot-soft': 'compute_reboot_instance',
  'reboot-hard': 'compute_reboot_instance',
  pause: 'compute_pause_instance',
  unpause: 'compute_unpause_instance',
} as const

export interface EndedEvent {
  readonly serverId: string
  readonly requestId: string
  readonly event: keyof typeof ACTION_EVENTS
  readonly startedAt: number
  readonly finishedAt: number
  readonly host: string | null
  /** Why it failed; undefined when it did not. */
  readonly failure?: string | undefined
}

/** Work on a server that is over, as `server event show` lists it. */
export function endedEvent({ failure, event, ...rest }: EndedEvent): ActionEvent {
  return {
    ...rest,
    event: ACTION_EVENTS[event],
    result: failure === undefined ? 'Success' : 'Error',
    details: failure ?? null,
  }
}
