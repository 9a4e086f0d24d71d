import { type TSchema, Type } from 'typebox'

export const Uuid = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
})
export const MacAddress = Type.String({ pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$' })
/** Milliseconds since the epoch. */
export const Time = Type.Integer({ minimum: 0 })
export const Texts = Type.Record(Type.String(), Type.String())

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()])
}

export function OneOf<const T extends readonly string[]>(values: T) {
  return Type.Unsafe<T[number]>({ enum: [...values] })
}
