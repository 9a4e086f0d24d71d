export const GIB_MB = 1_024

/** The used and the total amount, and the allocation ratio where it is not one: `3/8 x16`. */
export function share(used: number, total: number | null | undefined, ratio: number): string {
  return `${used}/${total ?? '-'}${ratio === 1 ? '' : ` x${ratio}`}`
}
