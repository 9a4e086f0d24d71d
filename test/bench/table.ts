/** Lines of text: the first column to the left, figures to the right. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const all = [headings, ...rows]
  const widths = headings.map((_, column) =>
    Math.max(...all.map((row) => (row[column] ?? '').length)),
  )
  return all.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return column === 0 ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  '),
  )
}
