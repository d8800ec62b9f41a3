Feature: {title}

  Scenario: NAME
    Given the state before
    When something happens
    Then what can be observed [NEEDS CLARIFICATION: write this]
