/**
 * The extensions of Cinder's API that are served, one a line: alias, name, date, description. Old clients look for the
 * aliases.
 */
const EXTENSIONS = `
os-availability-zone AvailabilityZones 2013-06-27 The zones in which volumes can be.
`

export const extensionViews = EXTENSIONS.trim().split('\n').map(extensionView)

function extensionView(line: string) {
  const [alias = '', name = '', day = '', ...words] = line.split(' ')
  return { alias, name, description: words.join(' '), updated: `${day}T00:00:00+00:00`, links: [] }
}
