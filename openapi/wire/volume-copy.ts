import { Type } from 'typebox'
import { Uuid } from './scalars.ts'

/** What cells of an earlier release ask for at once. */
export const MOVE_BYTES_REQUEST_MAX = 1024 * 1024
/**
 * A part of a file that a cell carries from one host to another. No longest length is named: the bus refuses longer messages, and to
 * count the characters takes longer than to read them.
 */
export const MoveBytes = Type.String({ contentEncoding: 'base64' })

/** Copies of volumes, which a cell carries from one host to another as it does the files of servers. */
export const VOLUME_COPY_OPERATIONS = {
  'volume-read': {
    ask: Type.Object({
      copy: Uuid,
      offset: Type.Integer({ minimum: 0 }),
      maxBytes: Type.Integer({ minimum: 1, maximum: MOVE_BYTES_REQUEST_MAX }),
    }),
    /** `sizeBytes`: of the whole copy. */
    answer: Type.Object({ bytes: MoveBytes, sizeBytes: Type.Integer({ minimum: 0 }) }),
  },
  'volume-write': {
    ask: Type.Object({ copy: Uuid, offset: Type.Integer({ minimum: 0 }), bytes: MoveBytes }),
    answer: Type.Object({}),
  },
  'volume-drop': { ask: Type.Object({ copy: Uuid }), answer: Type.Object({}) },
} as const
