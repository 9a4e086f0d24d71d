/** What Nova reads as true in a body (oslo.utils `bool_from_string`). */
export function isTrueFlag(flag: unknown): boolean {
  return flag === true || /^(true|t|1|on|yes|y)$/i.test(String(flag))
}
