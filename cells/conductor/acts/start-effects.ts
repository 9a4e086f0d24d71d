import type { ActNamed } from '#openapi/wire/act.ts'
import type { ActEffects } from './act-effects.ts'

/** A server that waits for its resize to be confirmed goes on waiting when it is started after its host. */
export const startEffects: ActEffects<ActNamed<'start'>> = {
  done: async (_tx, { instance }) => (instance.vmState === 'resized' ? { vmState: 'resized' } : {}),
}
