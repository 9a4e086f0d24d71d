export const GIB_MB = 1_024

/** Used of what is there, and how many times that may be used where it is not once: `3/8 x16`. */
export function share(used: number, total: number | null | undefined, ratio: number): string {
  return `${used}/${total ?? '-'}${ratio === 1 ? '' : ` x${ratio}`}`
}
