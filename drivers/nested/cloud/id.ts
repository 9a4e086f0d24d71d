import { Type } from 'typebox'

/** Of anything in the cloud that is named in paths: nothing that leads out of them. */
export const Id = Type.String({ pattern: '^[0-9A-Za-z_-]{1,64}$' })
